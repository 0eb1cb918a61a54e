"""The client of the benchmark, a process of its own: blocking SendMessage over keep-alive connections.

Raw HTTP/1.1 on asyncio streams, so that the client is not what is measured. Prints one JSON object: ``seconds`` for
the whole round and ``latencies`` of the turns, in seconds. Exits with 1 when an answer is not a completed task.
"""

import asyncio
import json
import sys
import time
import uuid
from collections.abc import Iterator
from urllib.parse import urlsplit


async def main(url: str, turns: int, connections: int) -> None:
    latencies: list[float] = []
    numbers = iter(range(turns))
    started = time.perf_counter()
    await asyncio.gather(*(speak(url, numbers, latencies) for _ in range(connections)))
    json.dump({"seconds": time.perf_counter() - started, "latencies": latencies}, sys.stdout)


async def speak(url: str, numbers: Iterator[int], latencies: list[float]) -> None:
    """Send messages over one connection, each after the answer to the one before, until the numbers run out."""
    target = urlsplit(url)
    reader, writer = await asyncio.open_connection(target.hostname, target.port)
    for _ in numbers:
        body = request_body()
        started = time.perf_counter()
        writer.write(
            f"POST {target.path or '/'} HTTP/1.1\r\nHost: {target.netloc}\r\nA2A-Version: 1.0\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        answer = await read_body(reader)
        latencies.append(time.perf_counter() - started)
        if b"TASK_STATE_COMPLETED" not in answer:
            sys.exit(f"not a completed task: {answer.decode()}")
    writer.close()
    await writer.wait_closed()


def request_body() -> bytes:
    """Return a request with a new message that opens a context of its own."""
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}).encode()


async def read_body(reader: asyncio.StreamReader) -> bytes:
    """Read one response and return its body; the two servers frame it by its length."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if not head.startswith(b"http/1.1 200"):
        sys.exit(f"not a 200: {head.decode()}")
    return await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r\n")[0]))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
