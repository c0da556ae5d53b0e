"""Shapes: what is sent to the server and what it answers, as the contract writes it (camelCase, times in UTC)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from haru.memory import Text, UtcTime

MOST_HITS = 100
MOST_DOCUMENTS = 1000

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$")]
DocumentId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,512}$")]
FieldName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,127}$")]
Scalar = bool | float | Annotated[str, StringConstraints(max_length=2000)]
Bound = float | Annotated[str, StringConstraints(max_length=2000)]
Use = Literal["searchable", "filterable", "sortable", "aggregatable", "autocompletable", "highlightable"]
FieldKind = Literal["text", "id", "number", "date", "boolean", "object", "array"]
Language = Literal["english", "none"]
Action = Literal["search_judgment", "click", "llm_judgment", "conversion"]


class Shape(BaseModel):
    """A JSON object."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Told(Shape):
    """What is wrong or what was done, in words."""

    message: str


class Refused(Shape):
    """A missing or wrong key."""

    error: str


class Wait(Told):
    """Too many searches."""

    retry_after_seconds: int


class Organization(Shape):
    """Whom a key belongs to."""

    id: str
    slug: str
    name: str


class NewIndex(Shape):
    """An index to be made."""

    name: Name
    display_name: str | None = Field(default=None, max_length=200)
    description: str | None = Field(default=None, max_length=2000)


class IndexRecord(Shape):
    """An index."""

    id: str
    organization_id: str
    index_name: str
    display_name: str | None = None
    description: str | None = None
    status: Literal["ready", "failed"] = "ready"
    created_at: UtcTime
    updated_at: UtcTime


class IndexState(IndexRecord):
    """An index, and how far it is."""

    documents_accepted: int
    documents_indexed: int
    documents_accepted_changed_at: UtcTime | None
    ready_to_search: bool


class FieldSpec(Shape):
    """What a field is, and what it is used for."""

    use: list[Use]
    kind: FieldKind = "text"
    language: Language | None = None


class Mapping(Shape):
    """The fields that documents may have."""

    fields: dict[FieldName, FieldSpec] = Field(min_length=1, max_length=200)
    language: Language = "english"


class Revision(Shape):
    """A mapping as it was deployed."""

    id: str
    revision: int
    relevan_mapping: Mapping
    relevan_mapping_yaml: str
    relevan_mapping_hash: str
    created_by: str | None = None
    created_at: UtcTime


class Document(Shape):
    """A document."""

    id: DocumentId
    content: dict[str, JsonValue]


class Upload(Shape):
    """Documents to be added or replaced."""

    documents: list[Document] = Field(min_length=1, max_length=MOST_DOCUMENTS)


class Content(Shape):
    """One document's content."""

    content: dict[str, JsonValue]


class Accepted(Shape):
    """What was taken in."""

    accepted: int
    document_ids: list[str]


class Listed(Shape):
    """A page of documents."""

    documents: list[Document]
    next_cursor: str | None = None


class Clause(Shape):
    """A condition: one value, one of several, or a range."""

    model_config = ConfigDict(extra="forbid")

    field: str = Field(max_length=128)
    value: Scalar | None = None
    values: list[Scalar] | None = Field(default=None, min_length=1, max_length=1000)
    gte: Bound | None = None
    lte: Bound | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Clause:
        forms = [self.value is not None, self.values is not None, self.gte is not None or self.lte is not None]
        if sum(forms) != 1:
            raise ValueError("a filter has a value, or values, or a range (gte, lte), and just one of them")
        return self


class Sort(Shape):
    """An order to put results in."""

    field: str = Field(max_length=128)
    order: Literal["asc", "desc"] = "asc"


class Query(Shape):
    """A search."""

    query: Text = Field(min_length=1, max_length=20_000)
    size: int = Field(default=10, ge=1, le=MOST_HITS)
    filters: list[Clause] = Field(default=[], max_length=50)
    boost: dict[str, Annotated[float, Field(ge=0, le=1000)]] = Field(default={}, max_length=50)
    customer_id: str | None = Field(default=None, max_length=512)
    session_id: str | None = Field(default=None, max_length=512)
    sort: list[Sort] = Field(default=[], max_length=5)


class Result(Shape):
    """A document that a search found."""

    id: str
    score: float
    document: dict[str, JsonValue]
    highlights: dict[str, list[str]]
    explanation: str
    matched_fields: list[str]
    matched_terms: list[str]


class SearchContext(Shape):
    """How a search went."""

    query_id: str
    session_id: str
    query_used: str
    total_hits: int
    matched_terms: list[str]
    top_contributing_fields: list[str]
    scoring_summary: str
    suggestions: str | None = None
    searchable_fields: list[str]


class Answer(Shape):
    """What a search found, best first."""

    took: int
    """Milliseconds."""
    results: list[Result]
    search_context: SearchContext


class Event(Shape):
    """What somebody made of a search. Further fields are kept as they are."""

    model_config = ConfigDict(extra="allow")

    action_name: Action
    query_id: str = Field(min_length=1, max_length=512)
    session_id: str | None = Field(default=None, max_length=512)
    object_id: DocumentId | None = None
    position: int | None = Field(default=None, ge=0, le=1_000_000)
    customer_id: str | None = Field(default=None, max_length=512)
    source: str | None = Field(default=None, max_length=100)
    label: str | None = Field(default=None, max_length=200)

    @model_validator(mode="after")
    def _of_a_result(self) -> Event:
        if self.object_id is None and self.action_name != "search_judgment":
            raise ValueError(f"{self.action_name} is of one result: objectId is missing")
        return self
