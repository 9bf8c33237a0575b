// What a Context owns. Members are in order of construction; they go in reverse.
#pragma once

#include <godwit/context.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/bootstrap.hpp"
#include "core/services.hpp"
#include "core/worker.hpp"
#include "runtime/communicator_state.hpp"
#include "runtime/directory.hpp"

namespace godwit::detail {

struct ContextState {
  ContextState(std::unique_ptr<core::OptionSet> loaded, std::vector<core::OptionNote> notes,
               std::unique_ptr<core::Bootstrap> joined, std::unique_ptr<core::Log> opened_log, ThreadMode mode);
  /// Leaves the job if that has not happened.
  ~ContextState();
  ContextState(const ContextState&) = delete;
  ContextState& operator=(const ContextState&) = delete;

  /// Sends what is queued, says good-bye, finalizes the bootstrap. Later calls do nothing.
  void leave() noexcept;

  std::unique_ptr<core::OptionSet> options;
  std::unique_ptr<core::Log> log;
  core::Clock clock;
  core::ServiceThread service;
  core::Services services;
  std::unique_ptr<core::Bootstrap> bootstrap;
  runtime::Directory directory;
  std::unique_ptr<core::Worker> worker;
  std::unique_ptr<CommunicatorState> world;
  std::map<std::vector<Rank>, std::uint32_t> group_creations;  // from_ranks() calls so far, by list
  std::shared_ptr<void> clock_ticker;
  std::shared_ptr<void> signal_watch;
  bool left = false;
};

}  // namespace godwit::detail

namespace godwit::runtime {

/// All option groups of the build, with aliases; not loaded.
std::unique_ptr<core::OptionSet> make_options();
/// A context on a bootstrap that is ready (ranks as threads).
std::shared_ptr<detail::ContextState> make_context(std::unique_ptr<core::Bootstrap> bootstrap,
                                                   const ContextOptions& wishes);
/// Prints the state of all pending operations when the signal of GODWIT_STATE_SIGNAL comes. The token ends it.
std::shared_ptr<void> watch_state_signal(detail::ContextState& context);

}  // namespace godwit::runtime
