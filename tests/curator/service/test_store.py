"""Store: once asked, once measured, once answered, on the disk before it is told."""

import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from helpers.patience import wait_until

from botorch_private.curator.service.clock import Clock, stamp
from botorch_private.curator.service.question import ServiceError, StorageError
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.trail import data_of

N = 20


@contextmanager
def refused(code):
    with pytest.raises(ServiceError) as error:
        yield
    assert error.value.code == code


def test_a_question_is_asked_once_however_often_it_comes(store):
    first = store.ask("key-00001", 3, 1).result()
    assert first.new
    assert first.query.public_state == "pending"
    again = store.ask("key-00001", 3, 1).result()
    assert (again.query, again.new) == (first.query, False)
    other_key = store.ask("key-00002", 3, 1).result()
    assert (other_key.query, other_key.new) == (first.query, False)
    assert store.queries_used() == 1


def test_a_key_belongs_to_one_row_and_one_token(store):
    store.ask("key-00001", 3, 1).result()
    with refused("key_reused"):
        store.ask("key-00001", 4, 1).result()
    assert store.ask("key-00001", 4, 2).result().new  # somebody else's key
    with refused("key_reused"):
        store.replayed("key-00001", 4, 1)
    assert store.replayed("key-00003", 4, 1) is None


@pytest.mark.parametrize("row", [-1, N, 10**12])
def test_a_row_that_is_not_released_is_refused(store, row):
    with refused("no_row"):
        store.ask("key-00001", row, 1).result()


def test_the_budget_is_kept_and_what_was_asked_is_still_answered(serve):
    store = serve(max_queries=2).store
    for row in (0, 1):
        store.ask(f"key-0000{row}", row, 1).result()
    with refused("budget_spent"):
        store.ask("key-00002", 2, 1).result()
    assert not store.ask("key-00003", 1, 1).result().new
    assert store.queries_left() == 0
    store.withdraw(1, "moved away", 2).result()
    assert store.queries_left() == 1
    assert store.ask("key-00004", 2, 1).result().new


def test_the_budget_is_kept_by_many_at_once(serve):
    store = serve(max_queries=7).store

    with ThreadPoolExecutor(16) as pool:
        futures = list(pool.map(lambda i: store.ask(f"key-of-{i:04d}", i % N, 1), range(200)))
    wait(futures)  # each has an outcome of its own, though they share commits
    failed = [future.exception().code for future in futures if future.exception() is not None]
    assert set(failed) == {"budget_spent"}
    assert sum(future.result().new for future in futures if future.exception() is None) == 7
    assert store.queries_used() == 7


def test_a_value_is_stored_once_and_not_replaced(store):
    number = store.ask("key-00001", 3, 1).result().query.id
    measured = store.measure(number, 1.5, 2).result()
    assert (measured.state, measured.answer, measured.outcome) == ("measured", 1.5, 1.5)
    assert store.measure(number, 1.5, 2).result() == measured
    with refused("measured"):
        store.measure(number, 1.6, 2).result()
    with refused("measured"):
        store.withdraw(number, "too late", 2).result()
    assert store.query(number) == measured


def test_a_correction_keeps_what_was_there_before(store):
    number = store.ask("key-00001", 3, 1).result().query.id
    with refused("not_measured"):
        store.correct(number, 1.0, "typo", 2).result()
    store.measure(number, 1.5, 2).result()
    corrected = store.correct(number, 15.0, "comma", 2).result()
    assert (corrected.answer, corrected.revision) == (15.0, 1)
    assert store.correct(number, 15.0, "again", 2).result() == corrected
    kinds = [(event["kind"], event["detail"]) for event in store.events(number)]
    assert kinds == [("asked", None), ("measured", None), ("corrected", "comma")]
    assert data_of(store.events(number)[-1]) == {"value": 15.0, "answer": 15.0, "before": {"value": 1.5}}


def test_a_withdrawn_row_may_be_asked_again(store):
    number = store.ask("key-00001", 3, 1).result().query.id
    withdrawn = store.withdraw(number, "no consent", 2).result()
    assert withdrawn.public_state == "withdrawn"
    assert store.withdraw(number, "twice", 2).result() == withdrawn
    with refused("withdrawn"):
        store.measure(number, 1.0, 2).result()
    assert store.ask("key-00001", 3, 1).result().query == withdrawn  # the same request
    again = store.ask("key-00002", 3, 1).result()
    assert again.new
    assert again.query.id != number


def test_queries_that_are_none_are_refused(store):
    for change in (
        lambda: store.query(7),
        lambda: store.measure(7, 1.0, 2).result(),
        lambda: store.correct(7, 1.0, "x", 2).result(),
        lambda: store.withdraw(7, "x", 2).result(),
        lambda: store.retry(7, 2).result(),
    ):
        with refused("no_query"):
            change()


def test_known_outcomes_are_answered_at_once(serve):
    service = serve(known=True)
    for row in range(N):
        query = service.store.ask(f"key-of-{row:04d}", row, 1).result().query
        assert query.answer == 0.5 * service.store.record(row)


def test_noised_answers_are_drawn_once_for_each_record(serve):
    service = serve(noised=True)
    store = service.store
    number = store.ask("key-00001", 3, 1).result().query.id
    measured = store.measure(number, 5.0, 2).result()
    assert measured.outcome == 5.0
    assert measured.answer != 5.0
    step = 10 / 4096
    assert measured.answer / step == pytest.approx(round(measured.answer / step), abs=1e-6)
    # Before it was read a correction moves the answer by what the outcome moved, on the grid.
    corrected = store.correct(number, 7.5, "typo", 2).result()
    assert corrected.answer - measured.answer == pytest.approx(2.5, abs=step)
    store.tell(number, 1).result()
    with refused("told"):
        store.correct(number, 5.0, "typo", 2).result()
    with refused("revised"):
        store.tell(number, 0).result()


def test_noise_survives_a_restart(serve):
    service = serve(noised=True)
    number = service.store.ask("key-00001", 3, 1).result().query.id
    answer = service.store.measure(number, 5.0, 2).result().answer
    again = serve(folder=service.folder)
    assert again.store.query(number).answer == answer
    noise = again.store._all("SELECT noise FROM record")
    assert len({row["noise"] for row in noise}) > N // 2


def test_everything_acknowledged_is_seen_by_another_process(serve):
    service = serve()
    number = service.store.ask("key-00001", 3, 1).result().query.id
    service.store.measure(number, 2.5, 2).result()
    with closing(sqlite3.connect(service.folder.database)) as other:
        assert other.execute("SELECT state, answer FROM query").fetchall() == [("measured", 2.5)]
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_full_disk_is_told_and_nothing_is_stored(store):
    store.ask("key-00001", 3, 1).result()

    def full(connection):
        raise sqlite3.OperationalError("database or disk is full")

    before = store.queries()
    begun, together = threading.Event(), threading.Event()
    slow = store._writer.submit(lambda _: begun.set() or together.wait(5))
    begun.wait(5)
    innocent, guilty = store.ask("key-00002", 4, 1), store._writer.submit(full)
    together.set()
    slow.result()
    for future in (innocent, guilty):  # they shared a transaction
        with pytest.raises(StorageError, match="nothing was stored, since the curator's disk"):
            future.result()
    assert store.queries() == before
    assert store.ask("key-00002", 4, 1).result().new  # and the next one works


def test_a_database_that_cannot_grow_refuses_cleanly(store):
    pages = store._writer.submit(lambda c: c.execute("PRAGMA page_count").fetchone()[0]).result()
    store._writer._connection.execute(f"PRAGMA max_page_count={pages}").fetchall()
    stored, refusals = 0, 0
    for i in range(4000):
        try:
            store.ask(f"key-{'x' * 100}{i:04d}", 3, 1).result()
            stored += 1
        except StorageError:
            refusals += 1
            break
    assert refusals == 1
    found = store._all("SELECT count(*) AS count FROM idempotency")[0]["count"]
    assert found == stored
    assert store._all("PRAGMA integrity_check")[0][0] == "ok"
    store._writer._connection.execute("PRAGMA max_page_count=100000").fetchall()
    assert store.ask("key-00002", 4, 1).result().new


def test_a_program_takes_the_oldest_question_and_staff_may_retry(store):
    numbers = [store.ask(f"key-of-{row:04d}", row, 1).result().query.id for row in (4, 2)]
    begun = store.begin().result()
    assert (begun.id, begun.state, begun.public_state) == (numbers[0], "measuring", "pending")
    failed = store.fail(numbers[0], "no power").result()
    assert (failed.state, failed.public_state, failed.reason) == ("failed", "pending", "no power")
    with refused("not_failed"):
        store.retry(numbers[1], 2).result()
    assert store.retry(numbers[0], 2).result().state == "pending"
    assert store.begin().result().id == numbers[0]
    assert store.begin().result().id == numbers[1]
    assert store.begin().result() is None
    assert store.interrupted("stopped").result() == 2
    assert {query.state for query in store.queries()} == {"failed"}
    # Staff may still enter a value by hand.
    assert store.measure(numbers[0], 1.0, 2).result().reason is None


def test_while_a_program_measures_people_wait(store):
    number = store.ask("key-00001", 3, 1).result().query.id
    store.begin().result()
    with refused("measuring"):
        store.withdraw(number, "too early", 2).result()
    with refused("measuring"):
        store.measure(number, 1.0, 2).result()
    assert store.measure(number, 3.25, None).result().outcome == 3.25


def test_a_correction_of_what_was_corrected_meanwhile_is_refused(store):
    number = store.ask("key-00001", 3, 1).result().query.id
    store.measure(number, 1.0, 2).result()
    store.correct(number, 2.0, "typo", 2, revision=0).result()
    with refused("revised"):
        store.correct(number, 3.0, "typo", 2, revision=0).result()
    assert store.correct(number, 2.0, "lost reply", 2, revision=0).result().revision == 1
    assert store.query(number).outcome == 2.0


def test_a_question_has_so_many_keys_and_no_more(store):
    for i in range(100):
        store.ask(f"key-of-{i:04d}", 3, 1).result()
    with refused("too_many_keys"):
        store.ask("key-of-9999", 3, 1).result()
    assert not store.ask("key-of-0000", 3, 1).result().new
    assert not store.ask("key-of-9999", 3, 2).result().new  # somebody else's
    assert store.ask("key-of-9999", 4, 1).result().new


def test_what_is_submitted_while_the_writer_closes_is_stored_or_refused(serve):
    """Else a request would wait for ever, and with it the end of the server."""
    writer = serve().store._writer

    class Slow:
        def __init__(self, queue):
            self.queue, self.between = queue, threading.Event()

        def put(self, item):
            if item is not None:
                self.between.set()
                time.sleep(0.2)  # the writer is closed meanwhile
            self.queue.put(item)

        def __getattr__(self, name):
            return getattr(self.queue, name)

    slow = Slow(writer._queue)
    writer._queue = slow
    with ThreadPoolExecutor(1) as pool:
        submitted = pool.submit(writer.submit, lambda _: 7)
        assert slow.between.wait(5)
        writer.close()
        assert submitted.result(5).result(timeout=5) == 7
    with pytest.raises(StorageError, match="the server stops"):
        writer.submit(lambda _: 7).result(timeout=5)


def test_who_stops_waiting_does_not_stop_the_writer(store):
    begun, go = threading.Event(), threading.Event()
    slow = store._writer.submit(lambda _: begun.set() or go.wait(5))
    begun.wait(5)
    waiting = store.ask("key-00001", 3, 1)
    assert waiting.cancel()  # before its turn: it is not stored
    store.listen(lambda query: 1 / 0)  # nor does who fails when told
    go.set()
    slow.result()
    assert not slow.cancel()
    assert store.ask("key-00002", 4, 1).result(timeout=10).new
    assert [query.row for query in store.queries()] == [4]


def test_a_rollback_that_fails_is_survived(store):

    def broken(connection):
        connection.execute("COMMIT")  # the transaction is gone under the writer
        raise sqlite3.OperationalError("disk I/O error")

    with pytest.raises(StorageError):
        store._writer.submit(broken).result(timeout=10)
    assert store.ask("key-00002", 4, 1).result(timeout=10).new


def test_queries_are_listed_in_order_and_by_pages(store):
    for row in range(10):
        store.ask(f"key-of-{row:04d}", row, 1).result()
    store.measure(2, 1.0, 2).result()
    assert [query.id for query in store.queries()] == list(range(1, 11))
    assert [query.id for query in store.queries(after=4, limit=3)] == [5, 6, 7]
    assert [query.id for query in store.queries(states=("measured",))] == [2]


def test_times_never_run_backwards(tmp_path, serve):
    times = [datetime(2027, 1, 2, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)]
    clock = Clock(None, lambda: times.pop(0))
    assert clock() == clock() == "2027-01-02T00:00:00.000000+00:00"
    service = serve()
    service.store.ask("key-00001", 3, 1).result()
    latest = service.store.clock()
    past = datetime.now(UTC) - timedelta(days=30)
    with closing(Store(service.folder.database, lambda k: Clock(k, lambda: past))) as again:
        assert latest[:16] <= again.clock()[:16]
        assert again.ask("key-00002", 4, 1).result().query.asked >= again.query(1).asked


def test_a_database_of_another_kind_or_version_is_refused(serve, tmp_path):
    service = serve()
    path = tmp_path / "other.db"
    for content in (b"", b"not a database at all, but long enough to be looked at" * 20):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not a curator's database"):
            Store(path)
        assert path.read_bytes() == content  # and it was not written to
    with sqlite3.connect(service.folder.database) as connection:
        connection.execute("UPDATE fact SET value = '4' WHERE name = 'schema_version'")
    connection.close()
    with pytest.raises(ValueError, match="newer botorch-private .*version 4 .*3 is the last"):
        service.folder.open()


# --- tokens ---


def test_tokens_are_256_bits_stored_hashed_and_of_one_role(serve):
    service = serve()
    tokens = service.store.tokens
    texts = {tokens.make("modeler", "x").result() for _ in range(20)}
    assert len(texts) == 20
    assert all(text.startswith("bop_") and len(text) == 4 + 43 for text in texts)
    content = service.folder.database.read_bytes()
    content += service.folder.database.with_name("curator.db-wal").read_bytes()
    assert not any(text.encode() in content for text in texts)
    assert {tokens.find(text).role for text in texts} == {"modeler"}
    assert tokens.find("bop_" + "A" * 43) is None
    assert tokens.find("") is None
    with pytest.raises(ValueError, match="role must be one of modeler, staff, got 'root'"):
        tokens.make("root", "x").result()


def in_seconds(seconds):
    return stamp(datetime.now(UTC) + timedelta(seconds=seconds))


def test_tokens_end_when_they_expire_or_are_revoked(serve):
    service = serve()
    tokens = service.store.tokens
    assert tokens.find(tokens.make("staff", "x", in_seconds(60)).result()) is not None
    soon = tokens.make("staff", "x", in_seconds(0.2)).result()
    wait_until(lambda: tokens.find(soon) is None)
    text = tokens.make("staff", "x").result()
    number = tokens.find(text).id
    tokens.revoke(number).result()
    tokens.revoke(number).result()
    assert tokens.find(text) is None
    assert not tokens.is_valid(number)
    for none in (999, 0, -1, 2**63, 10**30):
        with refused("no_token"):
            tokens.revoke(none).result()
        assert not tokens.is_valid(999)
    assert [token.revoked is not None for token in tokens.all()][-1]


def test_a_token_that_is_dead_at_once_is_not_made(serve):
    tokens = serve().store.tokens
    with pytest.raises(ValueError, match="expires must be after the latest time in the folder, 20"):
        tokens.make("staff", "x", in_seconds(-1)).result()
    assert len(tokens.all()) == 2


@pytest.mark.parametrize("seen_by", ["find", "is_valid"])
def test_a_token_that_was_seen_expired_stays_dead_when_the_clock_is_set_back(serve, seen_by):
    service = serve()
    tokens = service.store.tokens
    text = tokens.make("staff", "x", in_seconds(3600)).result()
    number = tokens.find(text).id
    service.store.clock._now = lambda: datetime.now(UTC) + timedelta(hours=2)
    assert tokens.find(text) is None if seen_by == "find" else not tokens.is_valid(number)
    service.store.submit(lambda _: None).result()  # what was seen is on the disk before this
    assert tokens.all()[-1].has_expired
    with closing(Store(service.folder.database)) as again:  # a clock that knows nothing of that
        assert again.tokens.find(text) is None
        assert not again.tokens.is_valid(number)


def test_values_keep_all_their_bits(store):
    values = [0.1, 1e-300, 1.7976931348623157e308, -0.0, np.nextafter(1.0, 2.0), 5e-324]
    for row, value in enumerate(values):
        number = store.ask(f"key-of-{row:04d}", row, 1).result().query.id
        assert store.measure(number, float(value), 2).result().answer == value


def test_a_closed_store_leaves_the_files_of_the_next_one_alone(serve):
    service = serve()
    closed = service.store
    closed.close()
    with closing(service.folder.open()):
        # what the next one writes, the closed one would take for somebody else's change
        os.utime(service.folder.database, (0, 0))
        closed.in_place.check()
        closed.in_place.put_log_aside()
        assert service.folder.database.with_name("curator.db-wal").exists()
    assert not closed.in_place.is_lost
