"""Users of a JupyterHub, each with a kernel that holds memory while its user thinks; run by the hub's Python.

    notebook_users.py URL USERS SECONDS THINK_S SEED

Each user logs in, starts a kernel, fills 20 MB, and runs cells of some 60 ms of CPU time. The requests are
printed as lines of JSON: user, kind, think_s, due_s, done_s.
"""

import asyncio
import json
import random
import sys
import time
import urllib.parse
import uuid

from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

FILL = "held = bytearray(20_000_000); held[::4096] = b'x' * len(held[::4096])"
CELL = "sum(number * number for number in range({size}))"
SIZE = 1_000_000
STARTS_S = 90.0
"""Longest time for a server to start."""


class User:
    """A user who is logged in, with a kernel."""

    def __init__(self, url: str, number: int, seed: int) -> None:
        self.url, self.name = url.rstrip("/"), f"user{number}"
        self.draws = random.Random(1000 * seed + number)
        self.client = AsyncHTTPClient()
        self.headers: dict[str, str] = {}
        self.socket: WebSocketClientConnection | None = None

    async def get(self, path: str, **more: object) -> object:
        """Answer to a request, parsed where it is JSON."""
        request = HTTPRequest(self.url + path, headers=self.headers, request_timeout=60.0, **more)
        answer = await self.client.fetch(request)
        return json.loads(answer.body) if answer.body else None

    async def start(self, token: str) -> None:
        """Start the server and a kernel of the user, and connect to it."""
        self.headers = {"Authorization": f"token {token}"}
        place = f"/hub/api/users/{urllib.parse.quote(self.name)}"
        try:
            await self.get(place, method="POST", body="")
        except HTTPClientError as error:
            if error.code != 409:  # It is there from an earlier play.
                raise
        try:
            await self.get(f"{place}/server", method="POST", body="")
        except HTTPClientError as error:
            if error.code != 400:  # It runs already.
                raise
        end = time.monotonic() + STARTS_S
        while not (await self.get(place))["servers"].get("", {}).get("ready"):  # type: ignore[index]
            if time.monotonic() > end:
                raise SystemExit(f"the server of {self.name} did not start in {STARTS_S:g} s")
            await asyncio.sleep(0.5)
        kernel = await self.get(f"/user/{self.name}/api/kernels", method="POST", body="{}")
        path = f"/user/{self.name}/api/kernels/{kernel['id']}/channels"  # type: ignore[index]
        address = self.url.replace("http:", "ws:") + path
        self.socket = await websocket_connect(HTTPRequest(address, headers=self.headers))
        await self.execute(FILL)

    async def execute(self, code: str) -> None:
        """Run a cell, and wait for its reply."""
        assert self.socket is not None
        mine = uuid.uuid4().hex
        header = {"msg_id": mine, "username": self.name, "session": self.name, "msg_type": "execute_request"}
        content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
        message = {"header": header | {"version": "5.3"}, "parent_header": {}, "metadata": {}}
        await self.socket.write_message(json.dumps(message | {"content": content, "channel": "shell"}))
        while True:
            text = await self.socket.read_message()
            if text is None:
                raise SystemExit(f"the kernel of {self.name} closed its connection")
            answer = json.loads(text)
            if answer["msg_type"] == "execute_reply" and answer["parent_header"].get("msg_id") == mine:
                return

    async def work(self, end: float, think_s: float) -> None:
        """Think, run a cell, and so on until the end."""
        while True:
            think = self.draws.expovariate(1.0 / think_s)
            await asyncio.sleep(think)
            due = time.time()
            if due >= end:
                return
            await self.execute(CELL.format(size=int(SIZE * self.draws.expovariate(1.0)) + 1))
            found = {"user": self.name, "kind": "cell", "think_s": think, "due_s": due, "done_s": time.time()}
            print(json.dumps(found), flush=True)


async def main() -> None:
    """Play the users."""
    url, users, seconds, think_s, seed = sys.argv[1:]
    token = sys.stdin.readline().strip()
    AsyncHTTPClient.configure(None, max_clients=200)
    there = [User(url, number, int(seed)) for number in range(int(users))]
    for user in there:
        await user.start(token)
    print("ready", flush=True)
    end = time.time() + float(seconds)
    await asyncio.gather(*(user.work(end, float(think_s)) for user in there))


asyncio.run(main())
