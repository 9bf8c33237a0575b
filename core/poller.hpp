// Poller: what only shows in memory, where no transport reports it. Thread rule: the worker's.
#pragma once

#include <string>

namespace godwit::core {

struct Operation;

class Poller {
 public:
  /// Looks, from progress(). True: something has happened. May add pollers, and remove and destroy itself.
  virtual bool poll() = 0;
  /// Before the worker sleeps: from now on, whatever happens wakes it. False: there is something to poll already.
  virtual bool arm() noexcept = 0;
  /// ", waits for ..." if the operation is its own, else nothing.
  virtual std::string words(const Operation& operation) const = 0;
  /// The worker ends, all operations are done: there will be no more polls. May destroy itself.
  virtual void stop() noexcept = 0;

 protected:
  ~Poller() = default;
};

}  // namespace godwit::core
