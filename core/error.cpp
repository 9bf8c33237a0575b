#include <godwit/error.hpp>

namespace godwit {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::ok: return "ok";
    case ErrorCode::in_progress: return "in_progress";
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::truncated: return "truncated";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::peer_failed: return "peer_failed";
    case ErrorCode::unreachable: return "unreachable";
    case ErrorCode::mismatch: return "mismatch";
    case ErrorCode::aborted: return "aborted";
    case ErrorCode::timeout: return "timeout";
    case ErrorCode::no_memory: return "no_memory";
    case ErrorCode::not_supported: return "not_supported";
    case ErrorCode::transport: return "transport";
    case ErrorCode::bootstrap: return "bootstrap";
    case ErrorCode::internal: return "internal";
  }
  return "unknown";
}

}  // namespace godwit
