"""The twistd commands of fmqbus. All modules are named, none is imported: twistd reads this file for any command."""

from twisted.application.service import ServiceMaker

bus = ServiceMaker("fmqbus", "fmqbus.app.twistd.bus", "A message bus that speaks all installed protocols.", "fmqbus")
micromsg2 = ServiceMaker(
    "micromsg2", "fmqbus.app.twistd.micromsg2", "A message broker for MicroMsg2 alone.", "micromsg2"
)
emqp = ServiceMaker("emqp", "fmqbus.app.twistd.emqp", "A job broker for EventMQ's peers alone.", "emqp")
fmqp = ServiceMaker("fmqp", "fmqbus.app.twistd.fmqp", "A message broker for FMQP alone.", "fmqp")
mtl = ServiceMaker("mtl", "fmqbus.app.twistd.mtl", "A message broker for MTL alone.", "mtl")
umq = ServiceMaker("umq", "fmqbus.app.twistd.umq", "A message broker for UMQ alone.", "umq")
sealer = ServiceMaker("fmqbus-sealer", "fmqbus.app.sealer", "Makes tables of a journal.", "fmqbus-sealer")
worker = ServiceMaker("fmqbus-worker", "fmqbus.worker.twistd", "A worker that runs jobs of queues.", "fmqbus-worker")
