// One rank does something terrible; the others must find out, in words, soon, and go on.
//
//   fault MODE            the last rank is the victim
//
// A survivor prints "survivor N: ..." and ends with 0 only if it saw exactly what it should.
#include <godwit/godwit.hpp>

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using godwit::Communicator;
using godwit::Context;
using godwit::Error;
using godwit::ErrorCode;
using godwit::Rank;
using Clock = std::chrono::steady_clock;

constexpr double limit_s = 5;

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Runs `action`, which must throw Error(code) with all of `words` in its message, within limit_s.
void expect_error(ErrorCode code, const std::vector<std::string>& words, const std::function<void()>& action) {
  const auto start = Clock::now();
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (error.code() != code)
      throw Failure(fmt::format("expected {}, got {}: {}", to_string(code), to_string(error.code()), message));
    for (const std::string& word : words)
      if (message.find(word) == std::string::npos) throw Failure(fmt::format("no \"{}\" in: {}", word, message));
    if (since(start) > limit_s) throw Failure(fmt::format("it took {:.1f} s: {}", since(start), message));
    fmt::print("saw: {}\n", message);
    return;
  }
  throw Failure(fmt::format("expected {}, but there was no error", to_string(code)));
}

std::string name_of(Rank rank) { return fmt::format("rank {} ", rank); }

bool is_victim(const Communicator& world) { return world.rank() == world.size() - 1; }

// The survivors make a communicator of their own and use it.
void go_on(Communicator& world) {
  std::vector<Rank> survivors;
  for (Rank rank = 0; rank + 1 < world.size(); ++rank) survivors.push_back(rank);
  Communicator rest = world.from_ranks(survivors);
  int sum = 1;
  rest.allreduce(sum, godwit::sum);
  if (sum != world.size() - 1) throw Failure(fmt::format("the survivors count {}", sum));
}

[[noreturn]] void die() {
  std::raise(SIGKILL);
  std::abort();
}

void kill_in_allreduce(Context& context) {
  Communicator world = context.world();
  std::vector<double> data(100'000, 1.0);
  expect_error(ErrorCode::peer_failed, {name_of(world.size() - 1)}, [&] {
    for (int i = 0; i < 1'000'000; ++i) {
      if (is_victim(world) && i == 20) die();
      world.allreduce(data, godwit::max);
    }
  });
  go_on(world);
}

// Barriers between ranks that share a page.
void kill_in_barrier(Context& context) {
  Communicator world = context.world();
  expect_error(ErrorCode::peer_failed, {name_of(world.size() - 1)}, [&] {
    for (int i = 0; i < 1'000'000; ++i) {
      if (is_victim(world) && i == 1000) die();
      world.barrier();
    }
  });
  go_on(world);
}

void kill_in_transfer(Context& context) {
  Communicator world = context.world();
  const Rank victim = world.size() - 1;
  std::vector<char> data(64 << 20);
  if (is_victim(world)) {
    std::vector<godwit::Request> sends;
    for (Rank to = 0; to < victim; ++to) sends.push_back(world.isend(data, to));
    world.send(1, 0, 1);
    die();
  }
  if (world.rank() == 0) {
    int ready = 0;
    world.recv(ready, victim, 1);
  }
  // The first may still have come whole; what was never sent cannot.
  expect_error(ErrorCode::peer_failed, {name_of(victim)}, [&] {
    world.recv(data, victim, 0);
    world.recv(data, victim, 0);
  });
  expect_error(ErrorCode::peer_failed, {name_of(victim)}, [&] {
    for (int i = 0; i < 1000; ++i) world.send(data, victim);
  });
  go_on(world);
}

void kill_before_any_message(Context& context) {
  Communicator world = context.world();
  if (is_victim(world)) die();
  int value = 0;
  expect_error(ErrorCode::peer_failed, {name_of(world.size() - 1)}, [&] { world.recv(value, world.size() - 1); });
  go_on(world);
}

void kill_while_any_source_waits(Context& context) {
  Communicator world = context.world();
  if (is_victim(world)) die();
  int value = 0;
  expect_error(ErrorCode::peer_failed, {name_of(world.size() - 1)}, [&] { world.recv(value); });
  go_on(world);
}

void leave_without_goodbye(Context& context) {
  Communicator world = context.world();
  world.barrier();
  if (is_victim(world)) ::_exit(0);
  int value = 0;
  expect_error(ErrorCode::peer_failed, {name_of(world.size() - 1)}, [&] { world.recv(value, world.size() - 1); });
  go_on(world);
}

void leave_in_order(Context& context) {
  Communicator world = context.world();
  world.barrier();
  if (is_victim(world)) return;
  int value = 0;
  expect_error(ErrorCode::peer_failed, {name_of(world.size() - 1), "has left the job"},
               [&] { world.recv(value, world.size() - 1); });
  go_on(world);
}

// Rank 0 stops the victim, lets the others wait long enough for their warning, and lets it go on.
void stop(Context& context) {
  Communicator world = context.world();
  const Rank victim = world.size() - 1;
  pid_t pid = ::getpid();
  world.broadcast(pid, victim);
  world.barrier();
  if (world.rank() == 0) {
    ::kill(pid, SIGSTOP);
    std::thread([pid] {
      std::this_thread::sleep_for(std::chrono::seconds(3));
      ::kill(pid, SIGCONT);
    }).detach();
  } else if (is_victim(world)) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  int value = world.rank();
  world.allreduce(value, godwit::sum);
  if (value != victim * (victim + 1) / 2) throw Failure("the sum is wrong");
}

// The victim waits for a message; rank 0 asks it by signal what it does, then sends.
void report(Context& context) {
  Communicator world = context.world();
  const Rank victim = world.size() - 1;
  pid_t pid = ::getpid();
  world.broadcast(pid, victim);
  int value = 0;
  if (is_victim(world)) {
    world.recv(value, 0, 77);
  } else if (world.rank() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ::kill(pid, SIGUSR1);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    world.send(value, victim, 77);
  }
  world.barrier();
}

// A rank that does not come by says at least that.
void report_busy(Context& context) {
  Communicator world = context.world();
  if (is_victim(world)) {
    ::kill(::getpid(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  world.barrier();
}

void mismatch(Context& context, const std::function<void(Communicator&)>& wrong,
              const std::function<void(Communicator&)>& right, const std::vector<std::string>& words) {
  Communicator world = context.world();
  expect_error(ErrorCode::mismatch, words, [&] {
    world.barrier();  // others may still be in it when they hear of the mismatch
    if (is_victim(world))
      wrong(world);
    else
      right(world);
    // Whoever had nothing to wait for finds out at the next calls.
    for (int i = 0; i < 100'000; ++i) world.barrier();
  });
  // Everything later fails, too, and says why.
  expect_error(ErrorCode::mismatch, words, [&] { world.barrier(); });
}

void mismatch_count(Context& context) {
  const auto call = [](std::size_t count) {
    return [count](Communicator& world) {
      std::vector<float> data(count);
      world.allreduce(data, godwit::sum);
    };
  };
  mismatch(context, call(1001), call(1000), {"allreduce of 1000 float", "allreduce of 1001 float"});
}

void mismatch_type(Context& context) {
  mismatch(
      context,
      [](Communicator& world) {
        std::vector<godwit::half> data(1000);
        world.allreduce(data, godwit::sum);
      },
      [](Communicator& world) {
        std::vector<float> data(1000);
        world.allreduce(data, godwit::sum);
      },
      {"1000 float", "1000 half"});
}

void mismatch_collective(Context& context) {
  mismatch(
      context,
      [](Communicator& world) {
        std::vector<float> data(1000);
        world.broadcast(data, world.rank());
      },
      [](Communicator& world) {
        std::vector<float> data(1000);
        world.allreduce(data, godwit::sum);
      },
      {"allreduce of 1000 float", "broadcast of 1000 float"});
}

void mismatch_root(Context& context) {
  const auto call = [](Rank root) {
    return [root](Communicator& world) {
      std::vector<float> data(10);
      world.broadcast(data, root);
    };
  };
  mismatch(context, call(1), call(0), {"from root 0", "from root 1"});
}

// No message meets a call that it does not fit to: everybody waits for the other root.
void mismatch_waiting(Context& context) {
  const Rank last = context.size() - 1;
  const auto call = [](Rank root) {
    return [root](Communicator& world) {
      std::vector<float> all(world.rank() == root ? 10 * static_cast<std::size_t>(world.size()) : 0);
      std::vector<float> mine(10);
      world.scatter(all, mine, root);
    };
  };
  mismatch(context, call(0), call(last), {"from root 0", fmt::format("from root {}", last)});
}

void abort_communicator(Context& context) {
  Communicator world = context.world();
  Communicator other = world.dup();
  expect_error(ErrorCode::aborted, {"the disk is full"}, [&] {
    int value = 0;
    world.barrier();  // others may still be in it when they hear of the end
    if (is_victim(world)) world.abort("the disk is full");
    world.recv(value, is_victim(world) ? 0 : world.size() - 1);
  });
  other.barrier();  // other communicators live on
}

void abort_job(Context& context) {
  Communicator world = context.world();
  world.barrier();
  if (is_victim(world)) context.abort(7, "the model does not converge");
  int value = 0;
  world.recv(value, world.size() - 1);
}

// Ranks that look as if on different hosts, and nothing that reaches across.
void unreachable(Context& context) {
  Communicator world = context.world();
  expect_error(ErrorCode::unreachable, {"no transport reaches", "shm: ", "verbs: GODWIT_IB_DISABLE"}, [&] {
    int value = 0;
    world.sendrecv(value, (world.rank() + 1) % world.size(), value, (world.rank() + 1) % world.size());
  });
}

const std::map<std::string, void (*)(Context&)> modes = {
    {"kill_in_allreduce", kill_in_allreduce},
    {"kill_in_barrier", kill_in_barrier},
    {"kill_in_transfer", kill_in_transfer},
    {"kill_before_any_message", kill_before_any_message},
    {"kill_while_any_source_waits", kill_while_any_source_waits},
    {"kill_at_start_up", kill_before_any_message},
    {"leave_without_goodbye", leave_without_goodbye},
    {"leave_in_order", leave_in_order},
    {"stop", stop},
    {"report", report},
    {"report_busy", report_busy},
    {"mismatch_count", mismatch_count},
    {"mismatch_type", mismatch_type},
    {"mismatch_collective", mismatch_collective},
    {"mismatch_root", mismatch_root},
    {"mismatch_waiting", mismatch_waiting},
    {"abort_communicator", abort_communicator},
    {"abort_job", abort_job},
    {"unreachable", unreachable},
};

int rank_from_launcher() {
  for (const char* name : {"PMIX_RANK", "RANK"})
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto mode = argc == 2 ? modes.find(argv[1]) : modes.end();
  if (mode == modes.end()) {
    fmt::print(stderr, "usage: fault MODE\n");
    return 2;
  }
  if (mode->first == "kill_at_start_up" && rank_from_launcher() == 1) die();
  if (mode->first == "unreachable") {
    ::setenv("GODWIT_HOST_ID", fmt::format("host{}", rank_from_launcher()).c_str(), 1);
    ::setenv("GODWIT_IB_DISABLE", "1", 1);
  }
  try {
    Context context;
    mode->second(context);
    fmt::print("survivor {}: all as it should be\n", context.rank());
    std::fflush(stdout);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "fault {}, launcher rank {}: {}\n", mode->first, rank_from_launcher(), error.what());
    return 1;
  }
}
