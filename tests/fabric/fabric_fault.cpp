// A job of two ranks to which something happens: the network is cut, a peer dies, memory goes away. tests/fabric has
// the network in its hands and checks what is said here.
//
//   fabric_fault MODE [SECONDS]
//
// A rank that fails prints "rank N saw CODE after T s: MESSAGE" and ends with 3; one that should have and did not, 4.
#include <godwit/godwit.hpp>

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace {

using godwit::Communicator;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> data(count);
  std::iota(data.begin(), data.end(), first);
  return data;
}

// Large and small messages, both ways, every word checked, for so long; all leave in the same round.
void stream(Communicator& world, double seconds) {
  const auto start = Clock::now();
  auto last = start;
  double gap = 0;
  std::uint32_t round = 0;
  for (int more = 1; more != 0; ++round) {
    const auto out = numbers(round % 2 == 0 ? 200'000 : 300, round);
    std::vector<std::uint32_t> in(out.size());
    world.sendrecv(out, 1 - world.rank(), in, 1 - world.rank());
    if (in != out) throw godwit::Error(godwit::ErrorCode::internal, fmt::format("wrong data in round {}", round));
    if (round == 3 && world.rank() == 0) say("streaming");
    more = since(start) < seconds ? 1 : 0;
    world.broadcast(more, 0);
    gap = std::max(gap, since(last));
    last = Clock::now();
  }
  say(fmt::format("rank {}: streamed {} rounds, longest gap {:.2f} s", world.rank(), round, gap));
}

// Rank 1 dies when the first of many large puts has come.
void kill_in_put(Communicator& world, double) {
  std::vector<std::byte> memory(8 << 20);
  godwit::ByteWindow window = world.window_bytes(memory.data(), memory.size());
  if (world.rank() == 1) {
    window.wait_notify(1);
    say("the first put has come");
    std::raise(SIGKILL);
  }
  std::vector<godwit::Request> puts;
  for (int i = 0; i < 8; ++i) puts.push_back(window.put_bytes(memory.data(), memory.size(), 1, 0, {.notify = 1}));
  godwit::wait_all(puts);
  window.flush(1);
}

// Rank 0 does nothing but wait for a message when rank 1 dies.
void kill_while_one_waits(Communicator& world, double) {
  std::vector<char> data(1 << 20);
  if (world.rank() == 1) {
    world.send(data, 0);  // complete: it is there
    std::raise(SIGKILL);
  }
  world.recv(data, 1);
  say("waiting");
  world.recv(data, 1);
}

// Both only wait, for ever: what cuts the network must end that.
void wait_only(Communicator& world, double) {
  int value = 0;
  world.barrier();
  if (world.rank() == 0) say("waiting");
  world.recv(value, 1 - world.rank());
}

// Rank 1 takes its region away and rank 0 puts all the same.
void wrong_key(Communicator& world, double) {
  std::vector<std::byte> memory(256 << 10, std::byte{1});
  godwit::RemoteKey key;
  godwit::Region region;
  if (world.rank() == 1) {
    region = world.region(memory);
    key = region.key();
  }
  world.broadcast(key, 1);
  if (world.rank() == 0) {
    const std::vector<std::byte> data(memory.size(), std::byte{2});
    world.put_bytes(data.data(), data.size(), key, 0).wait();
    world.flush(1);
    say("the first put was right");
  }
  world.barrier();
  region = {};
  world.barrier();
  if (world.rank() == 0) {
    const std::vector<std::byte> data(memory.size(), std::byte{3});
    world.put_bytes(data.data(), data.size(), key, 0).wait();
    world.flush(1);
    say("nothing refused the second put");
  }
  int value = 0;
  world.recv(value, 1 - world.rank());
}

const std::map<std::string, void (*)(Communicator&, double)> modes = {
    {"stream", stream},       {"kill_in_put", kill_in_put}, {"kill_while_one_waits", kill_while_one_waits},
    {"wait_only", wait_only}, {"wrong_key", wrong_key},
};

}  // namespace

int main(int argc, char** argv) {
  const auto mode = argc >= 2 ? modes.find(argv[1]) : modes.end();
  if (mode == modes.end()) {
    fmt::print(stderr, "usage: fabric_fault MODE [SECONDS]\n");
    return 2;
  }
  godwit::Rank rank = -1;
  auto start = Clock::now();
  try {
    godwit::Context context;
    Communicator world = context.world();
    rank = world.rank();
    start = Clock::now();
    mode->second(world, argc > 2 ? std::atof(argv[2]) : 0);
    return mode->first == "stream" ? 0 : 4;
  } catch (const godwit::Error& error) {
    say(fmt::format("rank {} saw {} after {:.1f} s: {}", rank, to_string(error.code()), since(start), error.what()));
    return 3;
  }
}
