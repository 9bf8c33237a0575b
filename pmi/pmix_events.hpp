// Death events of the PMIx server. Not every server sends them. Includes pmix.h: only for .cpp files.
#pragma once

#include "pmi/pmix_calls.hpp"

#include <godwit/types.hpp>

#include <functional>
#include <memory>
#include <string>

namespace godwit::pmi {

class DeathEvents {
 public:
  /// Called on PMIx's own thread: must return at once and not call PMIx.
  using Handler = std::function<void(Rank rank, std::string reason)>;

  /// Registers for the deaths of `me`'s job. Throws Error(bootstrap).
  DeathEvents(const pmix_proc_t& me, Reply::Clock::time_point deadline, Handler handler);
  /// No handler runs any more. Before PMIx_Finalize.
  ~DeathEvents();

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace godwit::pmi
