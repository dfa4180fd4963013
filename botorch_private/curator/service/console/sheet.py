"""Measurements of a sheet: it is sent, looked at with what would become of it, and stored as a whole."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import replace

from fastapi import APIRouter, Request
from starlette.responses import Response

from botorch_private.curator.service.console.guard import (
    ConsoleRoute,
    FormOf,
    SessionOf,
    Upload,
    UploadOf,
    note_refusal,
    storage_words,
)
from botorch_private.curator.service.console.pages import ConsoleError, go_to, page
from botorch_private.curator.service.console.sessions import Session
from botorch_private.curator.service.console.typed import names_of
from botorch_private.curator.service.limits import LARGEST_SHEET
from botorch_private.curator.service.question import StorageError
from botorch_private.curator.service.sheet import SheetForm, read_sheet
from botorch_private.curator.service.sheet_columns import DELIMITERS, headings
from botorch_private.curator.service.sheet_file import read_file
from botorch_private.curator.service.sheets import KeptSheet
from botorch_private.curator.service.store import Store
from botorch_private.curator.service.take_in import take_in

router = APIRouter(prefix="/console/sheet", route_class=ConsoleRoute, include_in_schema=False)
_MOST_SHOWN = 100
_LONGEST_NAME = 100
_ENCODINGS = ("utf-8", "cp1252", "latin-1", "utf-16")
_CHANGED = ConsoleError(
    409,
    "This is not the sheet that you looked at",
    "Nothing was stored. Look at it again under Sheet.",
    "changed",
)


@router.get("")
async def sheet(
    request: Request, session: SessionOf, stored: str = "", corrected: str = "", kept: str = ""
) -> Response:
    """The form that sends a sheet, and the one that waits if there is any."""
    return _form_page(request, session, SheetForm(), stored=stored, corrected=corrected, kept=kept)


@router.post("")
async def send(request: Request, session: SessionOf, upload: UploadOf) -> Response:
    """Keep a sheet, and go to what would become of it."""
    store: Store = request.app.state.store
    form = _form_of(upload.fields)
    try:
        if not upload.content:
            raise ValueError("choose the file of a sheet first")
        text, form = await asyncio.to_thread(_read, store, upload)
    except (ValueError, ImportError) as error:
        note_refusal(request, session, "unreadable")
        return _form_page(request, session, form, upload.fields, problem=f"{error}")
    await asyncio.wrap_future(store.sheets.keep(session.token, text, form))
    return go_to("/console/sheet/check")


@router.get("/check")
async def check(request: Request, session: SessionOf) -> Response:
    """What would become of the sheet now, found by a run that is undone."""
    kept = request.app.state.store.sheets.find(session.token)
    if kept is None:
        return go_to("/console/sheet")
    return await _check_page(request, session, kept)


@router.post("/store")
async def store_it(request: Request, session: SessionOf, form: FormOf) -> Response:
    """Store the sheet that was looked at: all of it, or none."""
    store: Store = request.app.state.store
    kept = store.sheets.find(session.token)
    if kept is None:
        return go_to("/console/sheet")
    if not hmac.compare_digest(form.get("seen", "").encode("utf-8", "replace"), _mark(kept).encode()):
        raise _CHANGED
    how = replace(kept.form, accepted=form.get("looked") == "yes")
    try:
        taken = await asyncio.to_thread(
            take_in, store, kept.content, how, token=session.token, dry=False
        )
    except StorageError as error:
        return await _check_page(request, session, kept, failure=storage_words(error))
    if taken.refused:
        return await _check_page(request, session, kept, missed=True)
    await asyncio.wrap_future(store.sheets.drop(kept.token))
    counts = f"stored={taken.stored}&corrected={taken.corrected}&kept={taken.kept}"
    return go_to(f"/console/sheet?{counts}")


@router.post("/keep")
async def keep(request: Request, session: SessionOf, _: FormOf) -> Response:
    """Have the values of the sheet that waits kept where nobody asks for their records; look again."""
    store: Store = request.app.state.store
    kept = store.sheets.find(session.token)
    if kept is not None:
        form = replace(kept.form, unasked="keep")
        await asyncio.wrap_future(store.sheets.keep(kept.token, kept.content, form))
    return go_to("/console/sheet/check")


@router.post("/discard")
async def discard(request: Request, session: SessionOf, _: FormOf) -> Response:
    """Throw away the sheet that waits."""
    store: Store = request.app.state.store
    kept = store.sheets.find(session.token)
    if kept is not None:
        await asyncio.wrap_future(store.sheets.drop(kept.token))
    return go_to("/console/sheet")


def _read(store: Store, upload: Upload) -> tuple[str, SheetForm]:
    """The text of a sheet that was sent, and how it is written, if it can be read as a whole."""
    encoding = upload.fields.get("encoding", "")
    text, form = read_file(
        upload.content,
        _form_of(upload.fields),
        encoding=encoding if encoding in _ENCODINGS else _ENCODINGS[0],
        tab=upload.fields.get("tab", "").strip() or None,
        most=LARGEST_SHEET,
    )
    read_sheet(text, form, unit=store.facts.outcome_unit, outcomes=store.facts.outcomes)
    return text, form


def _form_of(fields: Mapping[str, str]) -> SheetForm:
    """How a sheet is written, as the form says."""
    usual = SheetForm()
    return SheetForm(
        fields.get("identifier", "").strip()[:_LONGEST_NAME] or usual.identifier,
        fields.get("value", "").strip()[:_LONGEST_NAME] or usual.value,
        "," if fields.get("decimal") == "," else ".",
        unasked="keep" if fields.get("unasked") == "keep" else "refuse",
        separator=DELIMITERS.get(fields.get("separator", ""), ""),
    )


def _form_page(
    request: Request,
    session: Session,
    form: SheetForm,
    sent: Mapping[str, str] | None = None,
    *,
    problem: str = "",
    stored: str = "",
    corrected: str = "",
    kept: str = "",
) -> Response:
    store: Store = request.app.state.store
    return page(
        request,
        "sheet.html",
        session,
        status=422 if problem else 200,
        form=form,
        sent=sent or {},
        delimiters=DELIMITERS,
        encodings=_ENCODINGS,
        headings=["identifier", *(each[-1] for each in headings(store.facts.outcomes))],
        problem=f"{problem[:1].upper()}{problem[1:]}." if problem else "",
        waits=store.sheets.find(session.token) is not None,
        stored=_count(stored),
        corrected=_count(corrected),
        kept=_count(kept),
    )


async def _check_page(
    request: Request, session: Session, kept: KeptSheet, *, missed: bool = False, failure: str = ""
) -> Response:
    store: Store = request.app.state.store
    taken = await asyncio.to_thread(
        take_in, store, kept.content, kept.form, token=session.token, dry=True
    )
    return page(
        request,
        "sheet_check.html",
        session,
        status=503 if failure else 422 if missed else 200,
        taken=taken,
        shown=taken.refused[:_MOST_SHOWN],
        more=max(0, len(taken.refused) - _MOST_SHOWN),
        implausible=taken.implausible == len(taken.refused) > 0,
        unasked=0 < len(taken.refused) == taken.unasked + taken.implausible and taken.unasked > 0,
        missed=missed,
        failure=failure,
        seen=_mark(kept),
        sent=kept.time,
        whose="" if kept.token == session.token else names_of(store)[kept.token],
    )


def _count(text: str) -> int | None:
    """A number that an address of ours has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _mark(kept: KeptSheet) -> str:
    """Tells one sheet from another."""
    return hashlib.sha256(f"{kept.form}\n{kept.content}".encode()).hexdigest()
