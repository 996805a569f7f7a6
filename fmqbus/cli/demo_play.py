"""What happens in the demonstration? Sensors that measure all the time, and listeners that come and go.

No sensor is told to start or to stop by anybody here: it is the listeners' subscriptions that do it, by way of the
bus, though no two of them speak one protocol. Knows nothing of how it is shown.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall, deferLater

from fmqbus.cli.demo_data import Series
from fmqbus.cli.demo_stage import Cast
from fmqbus.cli.demo_work import MEAN, WORK
from fmqbus.client.events import Message
from fmqbus.client.queue_message import Delivery
from fmqbus.waiting import first_of

#: How often a sensor publishes what it has measured meanwhile.
_TICK_SECONDS = 0.02
#: How often the dashboard wants a mean, and of how many values.
_ASK_SECONDS = 0.2
_MOST_VALUES = 100
#: From here on (degrees Fahrenheit) a temperature is put aside.
_MILD = 55.0

SCENES = 6

Scene = Callable[[str], Awaitable[None]]


class Sensor:
    """Goes through its series at a steady rate; publishes only while somebody listens."""

    def __init__(self, series: Series, clock: Any, per_second: float) -> None:
        self.topic = series.topic
        self.published = 0
        self.is_awake = False
        self._payloads = series.payloads
        self._clock = clock
        self._per_second = per_second
        self._began = clock.seconds()

    @property
    def measured(self) -> int:
        """How many measurements there have been, wanted or not."""
        return int((self._clock.seconds() - self._began) * self._per_second)

    @property
    def spared(self) -> int:
        """How many of them were never sent, since nobody wanted them."""
        return self.measured - self.published

    async def measurements(self) -> AsyncGenerator[bytes, None]:
        """Yield each measurement from now on. This is the producer that runs on demand."""
        self.is_awake = True
        try:
            number = self.measured
            while True:
                await deferLater(self._clock, _TICK_SECONDS)
                while number < self.measured:
                    yield self._payloads[number % len(self._payloads)]
                    self.published += 1
                    number += 1
        finally:
            self.is_awake = False


class Play:
    """The sensors, the listeners, and what has arrived so far."""

    def __init__(self, clock: Any, sensors: Sequence[Sensor]) -> None:
        self.sensors = sensors
        #: By topic, over both listeners.
        self.delivered: Counter[str] = Counter()
        #: What has crossed from one protocol to another, by the two and what it was.
        self.crossed: Counter[tuple[str, str, str]] = Counter()
        #: The latest mean that a worker has reckoned.
        self.mean: float | None = None
        self._clock = clock
        self._shown: deque[float] = deque(maxlen=_MOST_VALUES)
        self._puts_aside = False

    async def perform(self, cast: Cast, scene: Scene) -> None:
        """Go through the scenes. `scene` announces one and returns when it is over."""
        acting = Deferred.fromCoroutine(self._act(cast, scene))
        sensing = [cast.station.publish_on_demand(sensor.topic, sensor.measurements) for sensor in self.sensors]
        await first_of(acting, *sensing)

    async def _act(self, cast: Cast, scene: Scene) -> None:
        await scene("Nobody listens. The sensors measure, and nothing is published.")
        seattle = cast.dashboard.subscribe("weather/seattle/*", callback=self._show)
        await scene("A dashboard subscribes to weather/seattle/*, in UMQ, and five sensors wake up, in FMQP.")
        cast.forecast.subscribe("weather/*/temperature", callback=lambda message: self._look(cast, message))
        await scene("A forecast subscribes to weather/*/temperature, in MTL, and San Francisco wakes up too.")
        self._puts_aside = True
        cast.archive.consume("mild", callback=self._take)
        await scene("The forecast puts mild hours into a queue, in MTL; an archive takes them, in MicroMsg2.")
        asking = LoopingCall(self._ask, cast)
        asking.clock = self._clock
        asking.start(_ASK_SECONDS).addErrback(lambda failure: None)
        await scene("The dashboard calls for means, in UMQ; a worker of eMQP does the job and answers.")
        asking.stop()
        seattle.stop()
        await scene("The dashboard leaves. Only the two temperatures go on.")
        # what is under way can still arrive before everybody leaves
        self._puts_aside = False

    def _show(self, message: Message) -> None:
        self._count(message, "UMQ")
        self._shown.append(_value(message.payload))

    def _look(self, cast: Cast, message: Message) -> None:
        self._count(message, "MTL")
        if self._puts_aside and _value(message.payload) >= _MILD:
            cast.forecast.enqueue("mild", message.payload)

    def _count(self, message: Message, protocol: str) -> None:
        self.delivered[message.topic] += 1
        self.crossed["FMQP", protocol, "published"] += 1

    def _take(self, delivery: Delivery) -> None:
        self.crossed["MTL", "MicroMsg2", "queued and accepted"] += 1
        delivery.accept()

    async def _ask(self, cast: Cast) -> None:
        self.mean = await cast.dashboard.call(f"job/{WORK}", MEAN, [list(self._shown)])
        self.crossed["UMQ", "eMQP", "called and answered"] += 1


def _value(payload: bytes) -> float:
    value: float = json.loads(payload)["value"]
    return value
