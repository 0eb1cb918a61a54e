"""Every error that has an answer of its own: code, status and reason sit on the class (A2A v1.0 §3.3.2, §5.4).

The message of an instance is shown to the caller: it names fields and limits, never internals.
"""

from typing import ClassVar


class InnkeeperError(Exception):
    """The root of everything Innkeeper raises on purpose."""


class StartFault(InnkeeperError):
    """Why a host does not start: one line per fault, all of them at once."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class BadArguments(InnkeeperError):
    """A tool was called with arguments it does not take; the text names each of them, in words for a model."""


class PluginFailed(InnkeeperError):
    """A plugin that a turn cannot do without is at fault; the text names it and says what it has done, as the log does.

    The turn fails, unless its agent can do without.
    """


class TurnOver(InnkeeperError):
    """The turn has ended while its agent still works: it was canceled, took too long, or has given its answer."""


class Answerable(InnkeeperError):
    """An error with an answer for the caller.

    ``code`` is the JSON-RPC code, ``status`` the HTTP status of the REST binding, ``grpc_status`` and ``reason`` go
    into its ``google.rpc.ErrorInfo``.
    """

    code: ClassVar[int] = -32603
    status: ClassVar[int] = 500
    grpc_status: ClassVar[str] = "INTERNAL"
    reason: ClassVar[str] = "INTERNAL_ERROR"
    default: ClassVar[str] = "Internal error"

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.default)

    @property
    def message(self) -> str:
        """The words for the caller."""
        return str(self)


class TaskNotFound(Answerable):
    """No such task for this caller and tenant; another's task looks the same."""

    code, status, grpc_status, reason = -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"
    default = "Task not found"


class TaskNotCancelable(Answerable):
    """The task has ended in another way."""

    code, status, grpc_status, reason = -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"
    default = "Task cannot be canceled"


class PushNotSupported(Answerable):
    """Push notifications are not served."""

    code, status, grpc_status, reason = -32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"
    default = "Push notifications are not supported"


class UnsupportedOperation(Answerable):
    """The operation does not apply to this task or agent."""

    code, status, grpc_status, reason = -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"
    default = "This operation is not supported"


class ContentTypeNotSupported(Answerable):
    """A part of a message has a media type that the agent does not take; the message names both."""

    code, status, grpc_status, reason = -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"
    default = "This media type is not supported"


class ExtensionRequired(Answerable):
    """The request does not ask for an extension that the agent cannot do without; the message names it."""

    code, status, grpc_status, reason = -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"
    default = "An extension is required"


class VersionNotSupported(Answerable):
    """A protocol version that is not served."""

    code, status, grpc_status, reason = -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"
    default = "Version not supported"


class ParseFailed(Answerable):
    """The body is not JSON."""

    code, status, grpc_status, reason = -32700, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"
    default = "Invalid JSON payload"


class InvalidRequest(Answerable):
    """JSON, but not a request."""

    code, status, grpc_status, reason = -32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"
    default = "Invalid request"


class MethodNotFound(Answerable):
    """No method of that name."""

    code, status, grpc_status, reason = -32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"
    default = "Method not found"


class InvalidParams(Answerable):
    """A field is missing, out of range or contradicts another; the message names it."""

    code, status, grpc_status, reason = -32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"
    default = "Invalid params"


class Unavailable(Answerable):
    """Too much work, no room to store it, or shutting down: HTTP 503 with Retry-After in every binding.

    ``retry_after`` is in seconds.
    """

    code, status, grpc_status, reason = -32603, 503, "UNAVAILABLE", "UNAVAILABLE"
    default = "The host cannot take this now"

    def __init__(self, message: str = "", *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after
