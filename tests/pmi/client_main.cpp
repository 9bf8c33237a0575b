// A rank for the tests of the bootstraps: does one thing, says what it saw, and tells by its exit status whether
// that was right. GODWIT_STARTUP_TIMEOUT and the like come as arguments: pmi_client DEADLINE_S MODE [RANK [N]].
#include "pmi/environment.hpp"
#include "pmi/select.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include <unistd.h>

namespace {

using godwit::Rank;
using godwit::core::Bootstrap;

template <class... A>
void say(fmt::format_string<A...> format, A&&... arguments) {
  const std::string line = fmt::format(format, std::forward<A>(arguments)...) + "\n";
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::abort();
}

std::vector<std::byte> card_of(Rank rank) {
  const std::string text = fmt::format("card of rank {}", rank) + std::string(1, '\0') + std::string(rank % 100, 'x');
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void exchange(Bootstrap& bootstrap) { bootstrap.exchange(card_of(bootstrap.job().rank)); }

int check_cards(Bootstrap& bootstrap) {
  exchange(bootstrap);
  const auto& job = bootstrap.job();
  for (Rank rank = 0; rank < job.size; ++rank) {
    if (bootstrap.card(rank) == card_of(rank)) continue;
    say("rank {}: the card of rank {} is wrong", job.rank, rank);
    return 1;
  }
  say("rank {} of {} (local {} of {}, nodes {}) has all cards, job {} via {}", job.rank, job.size, job.local_rank,
      job.local_size, job.node_count, job.id, job.via);
  return 0;
}

/// The first death that on_failure reports.
class Death {
 public:
  explicit Death(Bootstrap& bootstrap) : bootstrap_(bootstrap) {
    bootstrap_.on_failure([this](Rank rank, const std::string& reason) {
      const std::lock_guard lock(mutex_);
      if (!rank_) rank_ = rank;
      reason_ = reason;
      changed_.notify_all();
    });
  }
  ~Death() { bootstrap_.on_failure({}); }  // none runs after this
  Death(const Death&) = delete;
  Death& operator=(const Death&) = delete;

  int wait_for(Rank expected) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return rank_.has_value(); });
    say("rank {} saw the death of {}: {}", bootstrap_.job().rank, rank_.value_or(-1), reason_);
    return rank_ == expected ? 0 : 1;
  }

 private:
  Bootstrap& bootstrap_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Rank> rank_;
  std::string reason_;
};

[[noreturn]] void wait_for_ever() {
  for (;;) pause();
}

int run(std::string_view mode, Bootstrap& bootstrap, Rank target, int number) {
  const Rank me = bootstrap.job().rank;
  Death death(bootstrap);
  if (mode == "cards") return check_cards(bootstrap);
  if (mode == "die-early" && me == target) std::raise(SIGKILL);
  if (mode == "absent" && me == target) wait_for_ever();
  if (mode == "leave-early" && me == target) return 0;
  exchange(bootstrap);
  if (mode == "wait") {
    say("rank {} waits", me);
    wait_for_ever();
  }
  if (mode == "die" && me == target) std::raise(SIGKILL);
  if (mode == "die") return death.wait_for(target);
  if (mode == "dirty" && me == target) _exit(0);
  if (mode == "exit" && me == target) {
    bootstrap.finalize();
    return number;
  }
  if (mode == "abort" && me == target) {
    bootstrap.abort(number, "told so");
    return number;
  }
  if (mode == "abort") return death.wait_for(target);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view mode = argv[2];
  const Rank target = argc > 3 ? std::atoi(argv[3]) : -1;
  const int number = argc > 4 ? std::atoi(argv[4]) : 0;
  if (mode == "stubborn") std::signal(SIGTERM, SIG_IGN);
  try {
    godwit::core::Log log;
    godwit::pmi::BootstrapSettings settings;
    settings.deadline_s = std::atof(argv[1]);
    const auto bootstrap = godwit::pmi::select_bootstrap(settings, log, godwit::pmi::environment_variables());
    if (mode != "stubborn") return run(mode, *bootstrap, target, number);
    if (bootstrap->job().rank == target) return 1;
    wait_for_ever();
  } catch (const godwit::Error& error) {
    say("error: {}", error.what());
    return 3;
  }
}
