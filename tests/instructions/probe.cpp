// What counts.py counts the instructions of: the steps of small transfers between two contexts over shared memory,
// both driven in turn by one thread, so that the counts are the same in every run. Everything goes through the
// public API and the shared library, as in a user's program. `instruction_probe --build` prints how it was built.
#include <valgrind/callgrind.h>

#include <godwit/communicator.hpp>
#include <godwit/context.hpp>
#include <godwit/memory.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <latch>
#include <string_view>

#include "runtime/local_ranks.hpp"

namespace {

constexpr int warm_up_rounds = 3000;  // some laps of the ring
constexpr int rounds = 9;             // counts.py takes the median
constexpr godwit::Tag tag = 5;
constexpr std::uint16_t notification = 3;

struct Side {
  explicit Side(godwit::Context& its_context)
      : context(its_context),
        world(context.world()),
        shared(64),
        window(world.window_bytes(shared.data(), shared.size())) {}
  godwit::Context& context;
  godwit::Communicator world;
  godwit::shared_vector<std::byte> shared;
  godwit::ByteWindow window;
  std::array<std::byte, 8> small{};
  std::array<std::byte, 1024> medium{};
};

struct Stage {
  Side& from;  // rank 0
  Side& to;    // rank 1
  godwit::Request receive{};
};

using Step = void (*)(Stage&);

}  // namespace

// counts.py collects inside of this function only.
extern "C" [[gnu::noinline]] void counted_step(Step step, Stage& stage) { step(stage); }

namespace {

void count(const char* name, Stage& stage, Step step) {
  CALLGRIND_ZERO_STATS;
  counted_step(step, stage);
  CALLGRIND_DUMP_STATS_AT(name);
}

void send_8(Stage& stage) { stage.from.world.send(stage.from.small, 1, tag); }
void receive_8(Stage& stage) { stage.to.world.recv(stage.to.small, 0, tag); }

// Steps that are not counted: they connect, fill the pools, and go round the ring.
void warm_up(Stage& stage) {
  // Waits until the memory is mapped; puts are done by a system call before.
  stage.from.window.fetch_add_bytes(0, nullptr, 8, 1, 8).wait();
  for (int i = 0; i < warm_up_rounds; ++i) {
    send_8(stage);
    receive_8(stage);
    stage.from.world.send(stage.from.medium, 1, tag);
    stage.to.world.recv(stage.to.medium, 0, tag);
    stage.from.window.put_bytes(stage.from.small.data(), 8, 1, 0, {.notify = notification}).wait();
    stage.to.window.wait_notify(notification);
    stage.from.context.progress();  // takes credits
  }
}

void count_steps(Stage& stage) {
  // Posted before the message comes.
  count("post_receive_8", stage, [](Stage& s) { s.receive = s.to.world.irecv(s.to.small, 0, tag); });
  count("send_8", stage, send_8);
  count("wait_for_posted_8", stage, [](Stage& s) { s.receive.wait(); });
  // The message is in the ring.
  send_8(stage);
  count("receive_8", stage, receive_8);
  // The message is not expected.
  send_8(stage);
  count("keep_unexpected_8", stage, [](Stage& s) { s.to.context.progress(); });
  count("receive_unexpected_8", stage, receive_8);

  count("send_1024", stage, [](Stage& s) { s.from.world.send(s.from.medium, 1, tag); });
  count("receive_1024", stage, [](Stage& s) { s.to.world.recv(s.to.medium, 0, tag); });

  count("put_notify_8", stage, [](Stage& s) {
    s.from.window.put_bytes(s.from.small.data(), s.from.small.size(), 1, 0, {.notify = notification}).wait();
  });
  count("wait_notify", stage, [](Stage& s) { s.to.window.wait_notify(notification); });

  count("poll_nothing", stage, [](Stage& s) { s.to.context.progress(); });
  stage.from.context.progress();
}

void print_build() {
  const nlohmann::ordered_json build{
      {"compiler", GODWIT_COMPILER}, {"flags", GODWIT_FLAGS}, {"processor", GODWIT_PROCESSOR}};
  std::cout << build.dump() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--build") {
    print_build();
    return 0;
  }
  std::array<Side*, 2> sides{};
  std::latch ready(2), finished(1);
  godwit::runtime::run_local_ranks(2, [&](godwit::Context& context) {
    Side side(context);
    sides[static_cast<std::size_t>(context.rank())] = &side;
    ready.arrive_and_wait();
    if (context.rank() == 1) return finished.wait();
    Stage stage{*sides[0], *sides[1]};
    warm_up(stage);
    for (int i = 0; i < rounds; ++i) count_steps(stage);
    finished.count_down();
  });
  return 0;
}
