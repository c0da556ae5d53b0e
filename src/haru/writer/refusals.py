"""Refusals: what must never become a memory, whoever proposes it. Pure."""

from __future__ import annotations

import re

from haru.writer import dates

_ORDER = re.compile(
    r"^\s*(?:always|never|ignore|disregard|forget|from now on|pretend|reveal|repeat|respond|reply|act as"
    r"|you (?:must|are|should)"
    r"|do not (?:tell|say|mention)|don['’]t (?:tell|say|mention)|say |system\b|assistant\b|new (?:system )?rule)"
    r"|\b(?:ignore|disregard|override)\b.{0,30}\b(?:rules?|instructions?|prompts?|guidelines?)\b"
    r"|\b(?:haru|the assistant)\b.{0,30}\b(?:always|never|must|say|claim|pretend|reveal|obey)\b"
    r"|\bignorier\w*\b.{0,30}\b(?:regeln|anweisungen)\b|\bignor(?:ez|e|er)\b.{0,30}\b(?:règles|instructions|consignes)\b"
    r"|\bignor[ae]r?\b.{0,30}\b(?:reglas|instrucciones)\b|\bnote (?:for|to) (?:all )?(?:ai|assistants?)\b"
    r"|\b(?:system|assistant|developer)\s*:|</|\[INST\]|<\|",
    re.IGNORECASE,
)
_SECRET_NAMED = re.compile(
    r"\b(?:pin(?: code| number)?|pass(?:word|code|phrase)|cvv|cvc|security code|social security|ssn|api key|secret key"
    r"|access token|recovery (?:code|phrase)|seed phrase|kennwort|passwort|mot de passe|contraseña)\b"
    r"(?=.*(?:\d|\bis\b|\bist\b|\best\b|\bes\b|:))"
    r"|\b(?:alarm|door|gate|garage|lock|safe|entry|access|card|account|routing|sort)"
    r" (?:code|combination|number)\b(?=.*\d)"
    r"|\bas (?:an?|the|his|her|their|my) (?:\w+ )?(?:pin|pass(?:word|code|phrase))\b|\b\d{3}-\d{2}-\d{4}\b",
    re.IGNORECASE,
)
_LONG_NUMBER = re.compile(r"\b\d(?:[ -]?\d){11,18}\b")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,4})?\b")
_TOKEN = re.compile(
    r"\b(?:sk|pk|gh[op]|xox[bp])[-_][-_A-Za-z0-9]{14,}\b|\bAKIA[A-Z0-9]{12,}\b"
    r"|\b(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Z])[A-Za-z0-9_-]{28,}\b"
)
_AS_OBJECT = re.compile(r"^\s*[\[{]|\{['\"]|['\"]\s*:\s*['\"\[{]")


def refusal(text: str) -> str:
    """Why a text must not be stored, in a few words that repeat none of it; empty where it may."""
    if _AS_OBJECT.search(text):
        return "the text of an object, not a sentence"
    if _ORDER.search(dates.undated(text)):
        return "an order to the assistant"
    if holds_secret(text):
        return "a secret"
    return ""


def holds_secret(text: str) -> bool:
    """Whether a PIN, a password, a number of a card or an account, or a key stands in a text."""
    if _SECRET_NAMED.search(text) or _IBAN.search(text) or _TOKEN.search(text):
        return True
    return any(_is_card(re.sub(r"\D", "", found)) for found in _LONG_NUMBER.findall(text))


def _is_card(digits: str) -> bool:
    """The Luhn check of card numbers (ISO/IEC 7812)."""
    if not 12 <= len(digits) <= 19:
        return False
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0
