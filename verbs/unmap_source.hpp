// Who tells us that memory of this process is about to be unmapped.
#pragma once

#include <godwit/error.hpp>

#include <string>

namespace godwit::verbs {

class UnmapQueue;

class UnmapSource {
 public:
  virtual ~UnmapSource() = default;
  /// Who it is, for the log: "libucm (/usr/lib/libucm.so.0)".
  virtual std::string name() const = 0;
  /// From its return to detach(), every unmapping of private memory is pushed to `queue`, before it takes effect, by
  /// the thread that does it. Not ok: nothing is pushed; says why, and what to do.
  virtual Status attach(UnmapQueue& queue) = 0;
  /// Nothing is pushed after its return.
  virtual void detach(UnmapQueue& queue) noexcept = 0;
};

}  // namespace godwit::verbs
