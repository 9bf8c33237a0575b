// The PMIx server of `godwit run`: tells the ranks about their job, gathers their cards, announces deaths.
#pragma once

#include <godwit/types.hpp>

#include <functional>
#include <string>
#include <vector>

namespace godwit::pmi {

class LaunchServer {
 public:
  /// Called on PMIx's thread, so it must return at once.
  using AbortHandler = std::function<void(Rank rank, int status, std::string message)>;

  /// Keeps its files in `directory`. Throws Error(bootstrap).
  LaunchServer(int ranks, const std::string& directory, AbortHandler on_abort);
  ~LaunchServer();
  LaunchServer(const LaunchServer&) = delete;
  LaunchServer& operator=(const LaunchServer&) = delete;

  /// `environment` ("NAME=VALUE") and what the rank needs to find this server. Throws Error(bootstrap).
  std::vector<std::string> environment_for(Rank rank, const std::vector<std::string>& environment);
  /// True if the rank has connected and not said that it leaves. Any thread.
  bool is_connected(Rank rank) const;
  /// Sends the death to all other ranks; returns at once. `exit_code` is 128 + signal for a killed one.
  void announce_death(Rank rank, int exit_code);

  struct Impl;

 private:
  Impl* const impl_;  // lives as long as this process: see the destructor
};

}  // namespace godwit::pmi
