"""What is told, when, how often, and over kills and restarts."""

import json
import logging
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import closing
from datetime import timedelta

import httpx2
import pytest
from helpers.patience import wait_until
from helpers.receiver import SECRET, receiver
from helpers.remote_server import Server, make_curator
from helpers.staff_browser import IDENTIFIERS, console_folder

from botorch_private import RemoteCurator
from botorch_private.cli.main import main
from botorch_private.curator.service.notify.message import Message
from botorch_private.curator.service.notify.notifier import Notifier
from botorch_private.curator.service.notify.outbox import GIVEN_UP_AFTER, LONGEST_PAUSE, Delivery, Outbox
from botorch_private.curator.service.notify.settings import NotifySettings
from botorch_private.curator.service.notify.webhook import SendingError

STATE = "notify.json"
KILLS = 200


class Channel:
    """Keeps messages, or fails."""

    name, identity = "a channel", "kept:1"

    def __init__(self):
        self.messages, self.error = [], None

    def send(self, message, name, console):
        if self.error is not None:
            raise self.error
        self.messages.append(message)

    @property
    def told(self):
        return [(each.kind, each.new, each.open) for each in self.messages]


class Told:
    """A notifier of a folder, at a time that the test sets."""

    def __init__(self, service, **settings):
        self.service, self.channel, self.now = service, Channel(), 1e9
        self.settings = NotifySettings((self.channel,), wait=10, every=100, **settings)
        self.restart()

    def restart(self):
        path = self.service.folder.notifications
        self.notifier = Notifier(self.service.store, self.settings, path, lambda: self.now)

    def at(self, seconds):
        self.now = 1e9 + seconds
        self.notifier.look()
        return self.channel.told


@pytest.fixture
def told(service):
    return Told(service)


def test_questions_that_come_together_are_one_message(service, told):
    assert told.at(0) == []
    service.ask(0)
    assert told.at(1) == []
    service.ask(1)
    assert told.at(10) == []
    assert told.at(11) == [("questions", 2, 2)]
    assert told.at(12) == [("questions", 2, 2)]


def test_messages_about_new_questions_keep_their_distance(service, told):
    service.ask(0)
    told.at(0)
    told.at(10)
    for row in range(1, 6):
        service.ask(row)
        told.at(20 * row)
    assert told.at(109) == [("questions", 1, 1)]
    assert told.at(110) == [("questions", 1, 1), ("questions", 5, 6)]
    assert told.at(1000) == [("questions", 1, 1), ("questions", 5, 6)]


def test_what_was_settled_meanwhile_is_not_told(service, told):
    number = service.ask(0).json()["id"]
    told.at(0)
    service.measure(number, 3.0)
    assert told.at(50) == []


def test_a_restart_tells_nothing_twice_and_forgets_nothing(service, told):
    service.ask(0)
    told.at(0)
    told.at(10)
    told.restart()
    service.ask(1)  # while nobody looked
    told.at(500)
    assert told.at(510) == [("questions", 1, 1), ("questions", 1, 2)]
    told.restart()
    assert len(told.at(5000)) == 2


def test_what_did_not_arrive_is_sent_after_a_restart_under_the_same_id(service, told, caplog):
    service.ask(0)
    told.at(0)
    told.channel.error = SendingError("it answered 500")
    told.at(10)
    saved = json.loads((service.folder.path / STATE).read_text())
    assert told.channel.messages == []
    told.channel.error = None
    told.restart()
    assert told.at(11) == []  # it is not due yet
    assert told.at(17) == [("questions", 1, 1)]
    assert told.channel.messages[0].id == saved["deliveries"][0]["message"]["id"]
    assert "a channel: a message did not arrive (it answered 500)" in caplog.text


def test_newer_counts_take_the_place_of_older_ones_that_did_not_arrive(service, told):
    told.channel.error = SendingError("no")
    for row in range(5):
        service.ask(row)
        for seconds in range(0, 400, 10):
            told.at(400 * row + seconds)
    saved = json.loads((service.folder.path / STATE).read_text())
    assert [each["message"]["open"] for each in saved["deliveries"]] == [5]
    told.channel.error = None
    assert told.at(10_000) == [("questions", 5, 5)]


def test_tries_come_later_and_later_and_end():
    delivery, now, pauses = Delivery("x", Message("m", "test", ""), 0.0), 0.0, []
    while not delivery.failed(now):
        pauses.append(delivery.due - now)
        now = delivery.due
    assert 4 <= pauses[0] <= 6
    assert all(pause <= 1.2 * LONGEST_PAUSE for pause in pauses)
    assert pauses[11] > 100 * pauses[0]
    assert now > GIVEN_UP_AFTER
    assert 70 < len(pauses) < 120


def test_what_a_receiver_asks_to_wait_counts_within_reason():
    delivery = Delivery("x", Message("m", "test", ""), 0.0)
    delivery.failed(0.0, 100.0)
    assert delivery.due == 100.0
    delivery.failed(0.0, 1e9)
    assert delivery.due == LONGEST_PAUSE


def test_a_channel_that_is_gone_is_told_nothing_more(service, told):
    service.ask(0)
    told.at(0)
    told.channel.error = SendingError("it answered 410", for_good=True)
    told.at(10)
    assert json.loads((service.folder.path / STATE).read_text())["deliveries"] == []
    assert told.notifier.sent["given up"] == 1


def test_a_channel_that_left_the_settings_gets_nothing_more(service, told):
    service.ask(0)
    told.at(0)
    told.channel.error = SendingError("no")
    told.at(10)
    other = Channel()
    other.identity = "kept:2"
    told.settings = NotifySettings((other,), wait=10, every=100)
    told.restart()
    told.at(5000)
    assert other.messages == told.channel.messages == []


def test_questions_that_nobody_answers_are_told_again_each_time(service):
    told = Told(service, idle=2.0)
    clock = service.store.clock
    start = clock.machine()
    shift = [0.0]
    clock._now = lambda: start + timedelta(hours=shift[0])
    number = service.ask(0).json()["id"]

    def at(hours):
        shift[0] = hours
        told.at(3600 * hours)
        return [(each.idle_hours, each.open) for each in told.channel.messages if each.kind == "idle"]

    assert at(0.1) == []
    assert at(1.9) == []
    assert at(2.1) == [(2, 1)]
    assert at(3.9) == [(2, 1)]
    assert at(4.2) == [(2, 1), (4, 1)]
    service.measure(number, 3.0)
    assert at(7) == [(2, 1), (4, 1)]
    service.ask(1)  # idle since it was asked, not since the last value
    assert at(8) == [(2, 1), (4, 1)]
    assert at(9.5) == [(2, 1), (4, 1), (2, 1)]


def test_where_a_program_measures_its_failures_are_told(serve, tmp_path):
    service = serve(folder=console_folder(tmp_path / "program", objective="lab:total"))
    told = Told(service)
    number = service.ask(0).json()["id"]
    told.at(0)
    assert told.at(50) == []
    service.store.begin().result()
    service.store.fail(number, "no").result()
    told.at(60)
    assert told.at(80) == [("questions", 1, 1)]


def test_known_outcomes_wait_for_nobody(serve):
    service = serve(known=True)
    told = Told(service, idle=1.0)
    for row in range(5):
        service.ask(row)
    told.at(0)
    assert told.at(10_000) == []


def test_the_file_is_closed_to_others_and_a_damaged_one_is_refused(service, told):
    service.ask(0)
    told.at(0)
    told.at(10)
    path = service.folder.path / STATE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not any(each in path.read_text() for each in IDENTIFIERS)
    path.write_text(path.read_text()[:-20])
    with pytest.raises(ValueError, match="Remove it: then what waits is told of anew"):
        Outbox.load(path)


def test_a_folder_from_a_backup_goes_on_from_what_it_knows(service, told):
    service.ask(0)
    path = service.folder.path / STATE
    outbox = Outbox(path, told=10_000)
    outbox.save()
    told.restart()
    service.ask(1)
    told.at(0)
    assert told.at(10) == [("questions", 1, 2)]


def test_a_disk_that_is_full_pauses_messages_and_sends_none_that_is_not_kept(service, told, monkeypatch):
    service.ask(0)
    told.at(0)

    def full(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Outbox, "save", full)
    with pytest.raises(OSError, match="No space"):
        told.at(10)
    assert told.channel.messages == []
    monkeypatch.undo()
    assert told.at(11) == [("questions", 1, 1)]


def test_messages_hold_counts_alone(service, told):
    for row in range(3):
        service.ask(row)
    told.at(0)
    told.at(10)
    for message in told.channel.messages:
        sent = message.text("Clinic", "") + message.subject + message.body("Clinic", "").decode()
        assert not any(each in sent for each in IDENTIFIERS)


def test_a_stopped_thread_sends_no_more(service, caplog):
    told = Told(service)
    told.notifier.start()
    told.notifier.stop()
    assert not told.notifier._thread.is_alive()
    with caplog.at_level(logging.ERROR):
        service.ask(0)
    assert told.channel.messages == []


# --- a real server, a real receiver ---


def settings_file(folder, url):
    (folder / "hook.secret").write_text(SECRET)
    path = folder / "notify.toml"
    hook = f'[[webhook]]\nurl = "{url}"\nsecret_file = "hook.secret"\ninternal = true\n'
    path.write_text(f"wait = 0\nevery = 0\n{hook}")
    return path


def test_a_test_message_arrives_or_the_command_fails(tmp_path, capsys):
    with receiver() as kept:
        path = settings_file(tmp_path, kept.url)
        assert main(["curator", "notify", str(path), "--test"]) == 0
        kept.statuses = [500]
        assert main(["curator", "notify", str(path), "--test"]) == 1
    shown = capsys.readouterr()
    assert "webhook localhost: sent" in shown.out + shown.err
    assert "webhook localhost: it answered 500" in shown.out + shown.err
    assert [json.loads(each.body)["type"] for each in kept.received] == ["test", "test"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_over_kills_every_question_is_told_and_messages_that_came_twice_have_one_id(tmp_path):
    """The counts of different messages add up to the questions."""
    folder = console_folder(
        tmp_path / "folder", identifiers=[f"r{i}" for i in range(KILLS)], max_queries=KILLS
    )
    with closing(folder.open()) as store:
        token = store.tokens.find(store.tokens.make("modeler", "m").result()).id
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from botorch_private.curator.service.folder import Folder\n"
        "from botorch_private.curator.service.notify import notifier\n"
        "from botorch_private.curator.service.notify.settings import read_settings\n"
        "import os\n"
        "notifier._LOOK_SECONDS = 0.005\n"
        "for line in sys.stdin:\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        folder = Folder(Path(sys.argv[1]))\n"
        "        store = folder.open()\n"
        "        settings = read_settings(Path(sys.argv[2]))\n"
        "        notifier.Notifier(store, settings, folder.notifications).start()\n"
        "        time.sleep(60)\n"
        "    print(child, flush=True)\n"
        "    os.waitpid(child, 0)\n"
    )
    with receiver() as kept:
        path = settings_file(tmp_path, kept.url)
        launcher = subprocess.Popen(
            [sys.executable, "-c", script, str(folder.path), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        chance = random.Random(0)
        try:
            for row in range(KILLS):
                launcher.stdin.write("\n")
                launcher.stdin.flush()
                child = int(launcher.stdout.readline())
                with closing(folder.open()) as store:
                    store.ask(f"key-of-row-{row}", row, token).result()
                time.sleep(chance.uniform(0.0, 0.04))
                os.kill(child, signal.SIGKILL)
            launcher.stdin.write("\n")
            launcher.stdin.flush()
            child = int(launcher.stdout.readline())
            wait_until(lambda: sum(new_by_id(kept).values()) >= KILLS)
            os.kill(child, signal.SIGKILL)
        finally:
            launcher.communicate(timeout=20)
    assert sum(new_by_id(kept).values()) == KILLS
    by_id = {}
    for each in kept.received:
        assert by_id.setdefault(each.headers["webhook-id"], each.body) == each.body


def new_by_id(kept):
    return {each.headers["webhook-id"]: json.loads(each.body)["data"]["new"] for each in kept.received}


@pytest.mark.slow
def test_a_server_tells_over_restarts_and_its_metrics_count_that(tmp_path):
    with receiver() as kept, socket.create_server(("127.0.0.1", 0)) as free:
        place = free.getsockname()[1]
        free.close()
        server = Server(tmp_path / "folder", make_curator(known=False))
        path = settings_file(tmp_path, kept.url)
        server.arguments = ("--notify", str(path), "--metrics", str(place))
        kept.statuses = [500]
        try:
            server.start()
            with RemoteCurator(server.url, server.token) as curator:
                curator.submit(4)
                wait_until(lambda: len(kept.received) == 1)
                text = httpx2.get(f"http://127.0.0.1:{place}/metrics", trust_env=False).text
                server.stop()
                server.start()
                wait_until(lambda: len(kept.received) == 2)
                curator.submit(5)
                wait_until(lambda: len(kept.received) == 3)
        finally:
            server.kill()
    first, again, last = kept.received
    assert 'curator_notifications_total{result="failed"} 1.0' in text
    assert 'curator_requests_total{method="POST",route="/v1/queries",status="201"} 1.0' in text
    assert first.headers["webhook-id"] == again.headers["webhook-id"] != last.headers["webhook-id"]
    assert first.body == again.body
    assert json.loads(last.body)["data"] == {"name": "curator", "new": 1, "open": 2}
    assert "a message did not arrive (it answered 500)" in server.log.read_text()
