"""Write into the pages of the documentation what is made from the code and the tests, and say what has changed."""

from __future__ import annotations

from tests.docs.places import PLACES


def main() -> None:
    """Write what is not current."""
    for place in PLACES:
        if not place.is_current():
            place.write()
            print(place)


if __name__ == "__main__":
    main()
