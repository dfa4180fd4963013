"""Several questions open at a time: what is asked, counted and corrected."""

import threading

import pytest
from helpers.patience import wait_until
from helpers.remote_server import make_curator, make_modeler

from botorch_private import Modeler, Observation, RemoteCurator, RemoteError, WithdrawnError, run
from botorch_private.modeler.keep_open import keep_open


class Desk:
    """A curator in memory who answers when told to, in any order."""

    def __init__(self, order=lambda rows: rows, queries_left=None):
        self.pending, self.withdrawn, self.queries_left = [], [], queries_left
        self.most, self.order, self.asked = 0, order, []
        self.corrections, self.refused = [], set()

    def submit(self, index):
        if index not in self.pending:
            if index in self.refused:
                raise RemoteError("budget_spent", "all is spent")
            self.pending.append(index)
            self.asked.append(index)
        self.most = max(self.most, len(self.pending))
        return len(self.asked)

    def poll(self, wait=0.0):
        gone = [row for row in self.pending if row in self.withdrawn]
        self.pending = [row for row in self.pending if row not in gone]
        if gone or not wait:
            return []
        row = self.order(list(self.pending))[0]
        self.pending.remove(row)
        news = [Observation(row, float(row)), *self.corrections]
        self.corrections = []
        return news

    def remember(self, observations):
        self.remembered = list(observations)


@pytest.fixture(scope="module")
def release():
    return make_curator().release


def test_so_many_questions_are_open_and_answers_come_in_any_order(release):
    desk, modeler = Desk(order=lambda rows: rows[::-1]), make_modeler(release)
    history = run(desk, modeler, 7, pending=3)
    assert desk.most == 3
    assert len(history) == 7
    assert desk.asked[:3] == make_modeler(release).ask(3)
    assert history.indices[0] == desk.asked[2]
    assert sorted(history.indices) == sorted(desk.asked)  # nothing is asked that is not counted
    assert desk.pending == modeler.pending == []


def test_withdrawn_rows_are_replaced_and_corrections_reach_the_modeler(release):
    desk, modeler = Desk(), make_modeler(release, history=[(39, 1.0)])
    desk.corrections = [Observation(39, -1.0)]
    desk.withdrawn = [make_modeler(release, history=[(39, 1.0)]).ask()]
    calls = []
    keep_open(desk, modeler, 3, pending=2, changed=lambda: calls.append(len(modeler.history)))
    assert desk.remembered == [(39, 1.0)]
    assert modeler.skipped == desk.withdrawn
    assert modeler.history.indices[0] == 39
    assert modeler.history.values[0] == -1.0
    assert len(modeler.history) == 4
    assert calls[0] == 1  # before the first question
    assert calls[-1] == 4


def test_pending_rows_of_an_earlier_modeler_come_first_and_choices_are_the_same(release):
    history = [(0, 0.0), (1, 1.0), (2, 2.0)]
    first = make_modeler(release, history=history)
    pending = first.ask(2)
    resumed = make_modeler(release, history=history, pending=pending)
    assert resumed.pending == pending
    assert resumed.ask(4) == first.ask(4)
    assert make_modeler(release, history=history, pending=[1, *pending, *pending]).pending == pending
    with pytest.raises(ValueError, match=r"pending must be a row index in 0\.\.39, got 40"):
        make_modeler(release, pending=[40])


def test_a_budget_that_is_too_small_is_refused_with_open_questions_counted(release):
    desk, modeler = Desk(queries_left=2), make_modeler(release)
    modeler.ask(2)
    with pytest.raises(ValueError, match="2 queries left and 2 that are open, got 5"):
        run(desk, modeler, 5, pending=2)
    assert desk.asked == modeler.pending
    assert len(run(desk, modeler, 4, pending=2)) == 4


def test_the_last_rows_of_a_table_are_asked_one_by_one(release):
    known = [(row, float(row)) for row in range(38)]
    desk, modeler = Desk(), Modeler(release, history=known)
    run(desk, modeler, 2, pending=5)
    assert sorted(modeler.history.indices) == list(range(40))


@pytest.mark.parametrize("refused", [[1], [1, 2], [0, 2]])
def test_pending_rows_that_the_budget_refuses_do_not_hide_the_answers_of_others(release, refused):
    desk, modeler = Desk(), make_modeler(release)
    rows = modeler.ask(3)
    desk.refused = {rows[turn] for turn in refused}
    states = []
    with pytest.raises(RemoteError, match="all is spent"):
        keep_open(desk, modeler, 3, pending=3, changed=lambda: states.append(modeler.pending))
    assert modeler.history.indices == [row for row in rows if row not in desk.refused]
    assert modeler.pending == states[-1] == []
    assert modeler.skipped == []
    assert states[0] == modeler.history.indices  # forgotten before anything is waited for


def test_a_budget_that_is_spent_meanwhile_ends_the_search_when_all_that_is_open_is_told(release):
    desk, modeler = Desk(), make_modeler(release)
    rows = make_modeler(release).ask(3)
    desk.refused = set(range(40)) - set(rows)
    states = []
    with pytest.raises(RemoteError, match="all is spent"):
        keep_open(desk, modeler, 5, pending=2, changed=lambda: states.append(modeler.pending))
    assert modeler.history.indices == rows
    assert modeler.pending == states[-1] == []


def test_a_question_that_was_lost_and_is_refused_then_does_not_hide_the_answers_of_others(release):
    class Forgetful(Desk):
        lost = None

        def poll(self, wait=0.0):
            if wait and self.lost is None:
                self.lost = self.pending.pop()
                raise RemoteError("budget_spent", "all is spent")
            return super().poll(wait)

    desk, modeler = Forgetful(), make_modeler(release)
    rows = make_modeler(release).ask(3)
    with pytest.raises(RemoteError, match="all is spent"):
        keep_open(desk, modeler, 5, pending=3)
    assert desk.lost == rows[2]
    assert sorted(modeler.history.indices) == sorted(rows[:2])
    assert modeler.pending == []


def test_a_withdrawal_gives_its_measurement_back_to_a_spent_budget(release):
    desk, modeler = Desk(), make_modeler(release)
    first, second = modeler.ask(2)
    desk.refused = {second}

    class Withdrawn(list):
        def append(self, row):
            super().append(row)
            desk.refused = set()

    desk.withdrawn = Withdrawn()
    poll = desk.poll

    def withdraw(wait=0.0):
        if wait and first in desk.pending:
            desk.withdrawn.append(first)
        return poll(wait)

    desk.poll = withdraw
    keep_open(desk, modeler, 2, pending=2)
    assert len(modeler.history) == 2
    assert modeler.skipped == [first]


@pytest.mark.parametrize("pending", [1, 2, None])
def test_when_all_rows_are_withdrawn_it_is_said_so(release, pending):
    class Desk38(Desk):
        def query(self, index):
            if index in self.withdrawn:
                raise WithdrawnError(index)
            return Observation(index, float(index))

    desk, modeler = Desk38(), Modeler(release, history=[(row, float(row)) for row in range(37)])
    desk.withdrawn = [38, 39]
    message = (
        "rounds cannot be reached: 2 of the 40 rows were withdrawn by the curator or skipped, and the "
        "other 38 are measured"
    )
    with pytest.raises(ValueError, match=message):
        run(desk, modeler, 3, pending=pending)
    assert modeler.history.indices[-1] == 37
    with pytest.raises(ValueError, match="rounds must be at most the 0 rows not measured yet, got 1"):
        run(desk, modeler, 1, pending=pending)


def test_a_pending_row_that_was_withdrawn_is_not_counted_as_open(release):
    desk, modeler = Desk(queries_left=2), make_modeler(release)
    rows = modeler.ask(2)
    desk.withdrawn = rows[:1]
    with pytest.raises(ValueError, match="2 queries left and 1 that are open, got 4"):
        run(desk, modeler, 4, pending=2)
    assert modeler.skipped == rows[:1]
    assert desk.asked == rows


def test_what_was_answered_meanwhile_is_told_before_a_budget_is_refused(serve):
    server = serve(known=False, max_queries=3)
    with RemoteCurator(server.url, server.token) as curator:
        rows = make_modeler(curator.release).ask(3)
        for row in rows:
            curator.submit(row)
        server.measure(1, 1.0)
        server.withdraw(2)
    with RemoteCurator(server.url, server.token) as curator:
        modeler = make_modeler(curator.release, pending=rows)
        message = "1 queries left and 1 that are open, got 4, 1 of which were answered just now"
        with pytest.raises(ValueError, match=message):
            run(curator, modeler, 4, pending=3)
        assert list(modeler.history) == [(rows[0], 1.0)]
        assert modeler.skipped == [rows[1]]
        assert modeler.pending == [rows[2]]


def test_a_curator_in_this_process_answers_at_once():
    curator = make_curator()
    with pytest.raises(TypeError, match=r"RemoteCurator does, got Curator: leave pending out"):
        run(curator, make_modeler(curator.release), 2, pending=2)


@pytest.mark.parametrize("pending", [0, -1, 1.5, True])
def test_pending_must_be_a_count(release, pending):
    with pytest.raises(ValueError, match="pending must be an integer >= 1"):
        run(Desk(), make_modeler(release), 2, pending=pending)


@pytest.mark.parametrize("answered", [1, 2])
@pytest.mark.parametrize("spent", [0, 1])
def test_an_interrupted_question_is_paid_for_and_goes_on(serve, monkeypatch, answered, spent):
    server = serve(known=False, max_queries=3 + spent)
    with RemoteCurator(server.url, server.token) as curator:
        if spent:
            curator.submit(39)  # open, but none of this modeler's questions
        modeler = make_modeler(curator.release)
        get = curator._transport.get

        def interrupt(path, **options):
            number = int(path.rpartition("/")[2]) - spent if options.get("wait") else 0
            if number == answered + 1:
                raise KeyboardInterrupt
            if number:
                server.measure(number + spent, float(number))
            return get(path, **options)

        with monkeypatch.context() as patch:
            patch.setattr(curator._transport, "get", interrupt)
            with pytest.raises(KeyboardInterrupt):
                run(curator, modeler, 3)
        assert len(modeler.history) == answered
        assert curator.queries_left == 2 - answered
        rounds = 3 - answered
        message = f"{2 - answered} queries left and 1 that are open, got {rounds + 1}"
        with pytest.raises(ValueError, match=message):
            run(curator, modeler, rounds + 1)
        thread = threading.Thread(target=lambda: run(curator, modeler, rounds))
        thread.start()
        for number in range(answered + 1, 4):
            wait_until(lambda asked=number + spent: len(server.questions()) >= asked)
            server.measure(number + spent, float(number))
        thread.join(timeout=30)
    assert modeler.history.values.tolist() == [1.0, 2.0, 3.0]


def test_three_open_questions_over_http_told_out_of_order(serve):
    server = serve(known=False)
    with RemoteCurator(server.url, server.token) as curator:
        modeler = make_modeler(curator.release)
        expected = make_modeler(curator.release).ask(3)
        thread = threading.Thread(target=lambda: run(curator, modeler, 3, pending=3))
        thread.start()
        wait_until(lambda: len(server.questions()) == 3)
        for number in (3, 1, 2):
            server.measure(number, float(number))
        thread.join(timeout=30)
    assert dict(modeler.history) == dict(zip(expected, (1.0, 2.0, 3.0), strict=True))
