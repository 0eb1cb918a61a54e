"""Key sets over HTTPS: small, soon, and from nowhere else."""

import anyio
import httpx

from innkeeper.edge.identity.key_sets import KeySetFault
from innkeeper.edge.identity.urls import Url


class HttpKeySource:
    """Fetches key sets: https, or http on loopback where ``loopback_http`` is set; no redirects, no proxies."""

    def __init__(self, *, loopback_http: bool = False, seconds: float = 2.0, document_bytes: int = 65536) -> None:
        self._loopback_http = loopback_http
        self._seconds = seconds
        self._document_bytes = document_bytes

    async def fetch(self, url: Url) -> bytes:
        """Return the document.

        Raises:
            KeySetFault: it is not there in time, is too long, or the answer is anything but 200.
        """
        if not url.secure(loopback_http=self._loopback_http):
            raise KeySetFault("it is not at an https URL")
        try:
            with anyio.fail_after(self._seconds):
                return await self._get(url.address)
        except TimeoutError:
            raise KeySetFault(f"no answer within {self._seconds:g} seconds") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise KeySetFault(f"{type(error).__name__}: {error}") from error

    async def _get(self, address: str) -> bytes:
        headers = {"accept": "application/json", "accept-encoding": "identity"}
        async with (
            httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=self._seconds) as client,
            client.stream("GET", address, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise KeySetFault(f"answered with {response.status_code}")
            if response.headers.get("content-encoding", "identity") != "identity":
                raise KeySetFault("it is compressed")
            document = bytearray()
            async for chunk in response.aiter_raw():
                document += chunk
                if len(document) > self._document_bytes:
                    raise KeySetFault(f"it is longer than {self._document_bytes} bytes")
            return bytes(document)
