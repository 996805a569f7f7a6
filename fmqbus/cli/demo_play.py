"""What happens in the demonstration? Sensors that measure all the time, and listeners that come and go.

No sensor is told to start or to stop by anybody here: it is the listeners' subscriptions that do it, by way of the
bus. Knows nothing of how it is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from fmqbus.cli.demo_data import Series
from fmqbus.client.events import Message
from fmqbus.client.fmqp import FMQPClient
from fmqbus.waiting import first_of

#: How often a sensor publishes what it has measured meanwhile.
_TICK_SECONDS = 0.02


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
    """The sensors on one connection, two listeners on another each, and what has arrived so far."""

    def __init__(self, sensors: Sequence[Sensor]) -> None:
        self.sensors = sensors
        #: By topic, over both listeners.
        self.delivered: Counter[str] = Counter()

    async def perform(
        self,
        station: FMQPClient,
        dashboard: FMQPClient,
        forecast: FMQPClient,
        scene: Callable[[str], Awaitable[None]],
    ) -> None:
        """Go through the four scenes. `scene` announces one and returns when it is over."""
        acting = Deferred.fromCoroutine(self._act(dashboard, forecast, scene))
        sensing = [station.publish_on_demand(sensor.topic, sensor.measurements) for sensor in self.sensors]
        await first_of(acting, *sensing)

    async def _act(self, dashboard: FMQPClient, forecast: FMQPClient, scene: Callable[[str], Awaitable[None]]) -> None:
        await scene("Nobody listens. The sensors measure, and nothing is published.")
        seattle = dashboard.subscribe("weather/seattle/*", callback=self._count)
        await scene("A dashboard subscribes to weather/seattle/* and five sensors wake up.")
        forecast.subscribe("weather/*/temperature", callback=self._count)
        await scene("A forecast subscribes to weather/*/temperature and San Francisco wakes up too.")
        seattle.stop()
        await scene("The dashboard leaves. Only the two temperatures go on.")

    def _count(self, message: Message) -> None:
        self.delivered[message.topic] += 1
