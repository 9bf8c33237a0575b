// Error: thrown when setting up and by wait(). Status: returned by whatever moves data without throwing.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace godwit {

/// What went wrong, and by that what a program can do about it.
enum class ErrorCode : std::uint8_t {
  ok,
  in_progress,       ///< not an error: test() says that the operation is not done yet
  invalid_argument,  ///< the caller's mistake; nothing was sent
  truncated,         ///< message longer than the receive buffer; the pair stays usable
  cancelled,         ///< the receive was cancelled
  peer_failed,       ///< the peer is gone; operations with others go on
  unreachable,       ///< no transport reaches the peer
  mismatch,          ///< ranks called different collectives, or with different arguments
  aborted,           ///< the communicator was aborted by a member; make a new one from the survivors
  timeout,           ///< a deadline passed
  no_memory,         ///< memory, descriptors or a limit of the system ran out
  not_supported,     ///< not in this build, or not on this hardware
  transport,         ///< a transport failed in a way that is not the peer's death
  bootstrap,         ///< start-up failed: launcher, environment, rendezvous of the ranks
  internal,          ///< a defect of Godwit: please report
};

/// "peer_failed" and so on.
std::string_view to_string(ErrorCode code) noexcept;

/// Outcome of an operation: a code, and words that name both sides, the cause and what to do.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  explicit Status(ErrorCode code) noexcept : code_(code) {}

  bool ok() const noexcept { return code_ == ErrorCode::ok; }
  bool in_progress() const noexcept { return code_ == ErrorCode::in_progress; }
  explicit operator bool() const noexcept { return ok(); }
  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

 private:
  ErrorCode code_ = ErrorCode::ok;
  std::string message_;
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  explicit Error(const Status& status) : Error(status.code(), status.message()) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace godwit
