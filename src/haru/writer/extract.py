"""ModelExtractor: a batch to a proposal, with one call to a language model."""

from __future__ import annotations

from haru.errors import ReplyUnusable
from haru.ports import ChatModel
from haru.writer import prompt
from haru.writer.answer import find
from haru.writer.batch import Batch, Proposal
from haru.writer.operations import check
from haru.writer.polarity import Similar


class ModelExtractor:
    """Asks a language model.

    Args:
        model: which one.
        max_operations: most changes from one batch.
        prompt_chars: longest prompt.
        max_tokens: longest answer, in tokens; twenty changes take some two thousand, and some models think first.
        timeout_s: longest wait for its answer.
        similar: cosine of two sentences, to know a fact in other words.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        max_operations: int = 20,
        prompt_chars: int = prompt.MAX_CHARS,
        max_tokens: int = 4096,
        timeout_s: float = 180.0,
        similar: Similar | None = None,
    ) -> None:
        self._model = model
        self._max_operations = max_operations
        self._prompt_chars = prompt_chars
        self._max_tokens = max_tokens
        self._timeout_s = timeout_s
        self._similar = similar

    @property
    def id(self) -> str:
        """Name of the model."""
        return self._model.id

    async def extract(self, batch: Batch) -> Proposal:
        """See `haru.writer.batch.Extractor.extract`."""
        completion = await self._model.complete(
            prompt.messages(batch, self._prompt_chars),
            schema=prompt.SCHEMA,
            max_tokens=self._max_tokens,
            timeout_s=self._timeout_s,
        )
        if completion.finish == "length":
            raise ReplyUnusable("the model's answer was cut off at its token limit")
        return check(find(completion.text), batch, most=self._max_operations, similar=self._similar)
