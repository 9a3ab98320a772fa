from __future__ import annotations

import dataclasses
import hashlib
import hmac
import struct
import uuid
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from envelopes import Context, associated_data, opened, sealed
from hypothesis import given
from hypothesis import strategies as st

from secretsvc.kernel import crypto
from secretsvc.kernel.crypto import KeyRing, generate_master_key
from secretsvc.kernel.errors import DecryptFailed, ServerMisconfigured, UnknownKid
from secretsvc.kernel.parsers import master_key

ONE, TWO, THREE = (bytes([n]) * 32 for n in (1, 2, 3))
ENVIRONMENT = uuid.UUID("018f2d3c-0000-7000-8000-000000000001")
CONTEXT = Context(ENVIRONMENT, "API_KEY", 7)
RING = KeyRing(ONE, TWO)
PLAIN = b"correct horse"

contexts = st.builds(
    Context,
    st.uuids(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.integers(0, 2**64 - 1),
    st.text("ab/1", max_size=4),
)


def hkdf(master: bytes, info: bytes, length: int) -> bytes:
    """RFC 5869 from its text, for at most one block: an implementation other than the one on trial."""
    extracted = hmac.new(bytes(32), master, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()[:length]


def opens(blob: bytes, kid: str, context: Context = CONTEXT, ring: KeyRing = RING) -> bool:
    try:
        opened(ring, blob, kid, context)
    except (DecryptFailed, UnknownKid):
        return False
    return True


@given(st.binary(max_size=300), contexts)
def test_what_was_sealed_opens_again_to_the_same_bytes(plaintext: bytes, context: Context) -> None:
    blob, kid = sealed(RING, plaintext, context)
    assert opened(RING, blob, kid, context) == plaintext
    assert len(blob) == 1 + 8 + 12 + len(plaintext) + 16


def test_the_format_is_the_one_that_rows_were_written_in() -> None:
    kid = hkdf(ONE, b"secretsvc/1/kid", 8)
    key = hkdf(ONE, b"secretsvc/1/enc/" + ENVIRONMENT.bytes, 32)
    head, nonce = b"\x01" + kid, bytes(range(12))
    aad = head + b"".join(
        struct.pack(">I", len(part)) + part
        for part in (b"secret-value/1", ENVIRONMENT.bytes, b"API_KEY", (7).to_bytes(8, "big"))
    )
    blob = head + nonce + AESGCM(key).encrypt(nonce, PLAIN, aad)
    assert opened(RING, blob, kid.hex(), CONTEXT) == PLAIN


@pytest.mark.parametrize("pattern", [0x01, 0x80, 0xFF])
def test_a_change_of_any_byte_is_noticed(pattern: int) -> None:
    blob, kid = sealed(RING, PLAIN, CONTEXT)
    for position in range(len(blob)):
        changed = bytearray(blob)
        changed[position] ^= pattern
        with pytest.raises(DecryptFailed):
            opened(RING, bytes(changed), kid, CONTEXT)
        # Even where the row's own column was changed along with the envelope.
        assert not opens(bytes(changed), bytes(changed[1:9]).hex())


def test_every_truncation_and_every_addition_is_noticed() -> None:
    blob, kid = sealed(RING, PLAIN, CONTEXT)
    for length in range(len(blob)):
        with pytest.raises(DecryptFailed):
            opened(RING, blob[:length], kid, CONTEXT)
    assert not opens(blob + b"\0", kid)
    assert not opens(b"\0" + blob, kid)


@pytest.mark.parametrize(
    "change",
    [
        {"key": "API_KEZ"},
        {"key": "api_key"},
        {"version": 6},
        {"environment_id": uuid.UUID(int=1)},
        {"purpose": "secret-value/2"},
    ],
)
def test_a_value_moved_to_another_place_does_not_open(change: dict[str, object]) -> None:
    elsewhere = dataclasses.replace(CONTEXT, **change)  # type: ignore[arg-type]
    here, there = sealed(RING, PLAIN, CONTEXT), sealed(RING, PLAIN, elsewhere)
    assert not opens(here.blob, here.kid, elsewhere)
    assert not opens(there.blob, there.kid, CONTEXT)


def test_another_held_key_id_in_the_envelope_or_its_row_is_a_decrypt_failure() -> None:
    blob, kid = sealed(RING, PLAIN, CONTEXT)
    other = RING.kids[1]
    swapped = blob[:1] + bytes.fromhex(other) + blob[9:]
    for envelope, column in (
        (swapped, other),
        (swapped, kid),
        (blob, other),
        (blob, ""),
        (blob, kid.upper()),
    ):
        with pytest.raises(DecryptFailed):
            opened(RING, envelope, column, CONTEXT)


def test_an_envelope_of_another_format_is_refused_even_when_it_authenticates() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crypto, "FORMAT", b"\x02")
        blob, kid = sealed(KeyRing(ONE, TWO), PLAIN, CONTEXT)
    with pytest.raises(DecryptFailed):
        opened(RING, blob, kid, CONTEXT)


def test_a_key_the_ring_lacks_is_named_beside_those_it_holds() -> None:
    stranger = KeyRing(THREE, None)
    blob, kid = sealed(stranger, PLAIN, CONTEXT)
    with pytest.raises(UnknownKid) as caught:
        opened(RING, blob, kid, CONTEXT)
    assert kid in caught.value.message
    assert all(held in caught.value.message for held in RING.kids)
    with pytest.raises(DecryptFailed):
        opened(RING, blob, RING.active_kid, CONTEXT)


def test_the_active_key_seals_and_the_retired_one_still_opens() -> None:
    before, after = KeyRing(ONE, None), KeyRing(TWO, ONE)
    old = sealed(before, PLAIN, CONTEXT)
    assert opened(after, old.blob, old.kid, CONTEXT) == PLAIN
    new = sealed(after, PLAIN, CONTEXT)
    assert new.kid == after.active_kid != old.kid
    assert new.blob[1:9].hex() == new.kid
    assert not opens(new.blob, new.kid, ring=before)


def test_the_same_plaintext_twice_gives_two_unlike_envelopes() -> None:
    first, second = sealed(RING, PLAIN, CONTEXT).blob, sealed(RING, PLAIN, CONTEXT).blob
    assert first[:9] == second[:9]
    assert first[9:21] != second[9:21]
    assert first[21:] != second[21:]
    assert PLAIN not in first


def test_values_that_are_sealed_at_once_have_a_nonce_each() -> None:
    cipher, values = RING.within(ENVIRONMENT), [(b"same", "K", number) for number in range(1000)]
    sealed_all = cipher.seal_many(iter(values), len(values))
    assert len({one.blob[9:21] for one in sealed_all}) == len(values)
    for (plaintext, key, version), one in zip(values, sealed_all, strict=True):
        assert cipher.open(one.blob, one.kid, key, version) == plaintext
    assert cipher.seal_many([], 0) == []


@pytest.mark.slow
def test_nonces_do_not_repeat_also_when_threads_share_the_ring() -> None:
    with ThreadPoolExecutor(8) as pool:
        blobs = list(pool.map(lambda _: sealed(RING, b"", CONTEXT).blob, range(20_000)))
    assert len({blob[9:21] for blob in blobs}) == len(blobs)
    assert all(opened(RING, blob, RING.active_kid, CONTEXT) == b"" for blob in blobs[::100])


@given(contexts, contexts)
def test_two_contexts_never_share_their_associated_data(one: Context, two: Context) -> None:
    assert (associated_data(b"", one) == associated_data(b"", two)) == (one == two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (Context(ENVIRONMENT, "A|1", 2), Context(ENVIRONMENT, "A", 12)),
        (Context(ENVIRONMENT, "", 1, "ab"), Context(ENVIRONMENT, "b", 1, "a")),
    ],
)
def test_contexts_that_a_separator_would_confuse_stay_apart(one: Context, two: Context) -> None:
    assert associated_data(b"", one) != associated_data(b"", two)


def test_a_kid_is_sixteen_hex_digits_that_give_away_no_key() -> None:
    for master, kid in zip((ONE, TWO), RING.kids, strict=True):
        assert len(kid) == 16
        assert set(kid) <= set("0123456789abcdef")
        digest = bytes.fromhex(kid)
        encryption = hkdf(master, b"secretsvc/1/enc/" + ENVIRONMENT.bytes, 32)
        assert all(digest not in secret for secret in (master, encryption, hashlib.sha256(master).digest()))
        assert digest not in KeyRing(master, None).subkey(b"kid")


def test_no_two_uses_share_a_derived_key() -> None:
    uses = {RING.subkey(b"csrf"), RING.subkey(b"cursor"), KeyRing(TWO, None).subkey(b"csrf")}
    environments = {hkdf(ONE, b"secretsvc/1/enc/" + uuid.UUID(int=n).bytes, 32) for n in range(3)}
    assert len(uses | environments | {ONE, TWO}) == 8
    assert len(RING.subkey(b"csrf", 64)) == 64
    assert RING.subkey(b"csrf") == KeyRing(ONE, THREE).subkey(b"csrf")
    # A label made to look like that of another use gives something else.
    assert RING.subkey(b"enc/" + ENVIRONMENT.bytes) not in environments


def test_equal_keys_count_as_one() -> None:
    ring = KeyRing(ONE, ONE)
    assert ring.kids == (ring.active_kid,)


@pytest.mark.parametrize("length", [0, 16, 24, 31, 33])
def test_a_key_of_another_length_is_a_configuration_error(length: int) -> None:
    with pytest.raises(ServerMisconfigured):
        KeyRing(bytes(length), None)
    with pytest.raises(ServerMisconfigured):
        KeyRing(ONE, bytes(length))


def test_the_ring_shows_its_kids_and_nothing_else() -> None:
    text = repr(RING) + str(RING)
    assert all(kid in text for kid in RING.kids)
    assert "\\x" not in text
    assert ONE.hex() not in text


def test_a_sound_ring_passes_its_check() -> None:
    RING.check()


def test_a_cipher_that_does_not_open_what_it_seals_fails_the_check() -> None:
    ring = KeyRing(ONE, TWO)
    keys = ring.within(uuid.UUID(int=0), "ring-check/1")._keys
    broken: Any = SimpleNamespace(encrypt=AESGCM(ONE).encrypt, decrypt=AESGCM(TWO).decrypt)
    keys[ring.kids[1]] = keys[ring.kids[1]]._replace(cipher=broken)
    with pytest.raises(ServerMisconfigured):
        ring.check()


def test_a_cipher_that_computes_something_else_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crypto, "KNOWN_ANSWER", bytes(32))
    with pytest.raises(ServerMisconfigured):
        RING.check()


def test_ciphers_of_environments_are_kept_but_not_without_bound() -> None:
    ring = KeyRing(ONE, None)
    for n in range(crypto.CACHED_CIPHERS + 10):
        sealed(ring, b"", Context(uuid.UUID(int=n), "K", 1))
    assert ring._cipher.cache_info().currsize == crypto.CACHED_CIPHERS
    assert opened(ring, *sealed(ring, PLAIN, CONTEXT), CONTEXT) == PLAIN
    assert ring._cipher.cache_info().hits >= 1


def test_a_generated_master_key_is_one_that_the_settings_take() -> None:
    keys = {master_key(generate_master_key()) for _ in range(50)}
    assert len(keys) == 50


@given(contexts)
def test_the_aad_is_each_part_behind_its_length(context: Context) -> None:
    head = b"\x01" + bytes(8)
    parts = (
        context.purpose.encode(),
        context.environment_id.bytes,
        context.key.encode(),
        context.version.to_bytes(8, "big"),
    )
    aad = head + b"".join(struct.pack(">I", len(part)) + part for part in parts)
    assert associated_data(head, context) == aad


def test_many_values_under_both_keys_are_opened_as_each_by_itself() -> None:
    cipher, texts = RING.within(ENVIRONMENT), [b"one", b"two", b"three", b"four"]
    kids = [RING.kids[number % 2] for number in range(4)]
    blobs = [cipher.seal_under(kid, text, "K", 1) for kid, text in zip(kids, texts, strict=True)]
    open_one = cipher.open
    assert [open_one(blob, kid, "K", 1) for blob, kid in zip(blobs, kids, strict=True)] == texts
    for kid in (*reversed(kids), "", None):
        # Whichever key opened the one before it, and whatever failed before.
        with pytest.raises(DecryptFailed):
            open_one(blobs[0], kid, "K", 2)
        assert open_one(blobs[1], kids[1], "K", 1) == b"two"
