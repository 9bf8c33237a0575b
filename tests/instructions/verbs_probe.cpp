// What counts.py counts the instructions of, over RDMA: the steps of small transfers between two contexts over adapters
// in memory, both driven in turn by one thread. Everything goes through the public API and the shared library; what is
// below libibverbs is not counted. `verbs_instruction_probe --build` prints how it was built.
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
#include <vector>

#include "fake_libibverbs.hpp"
#include "runtime/local_ranks.hpp"

namespace {

constexpr int warm_up_rounds = 1000;
constexpr int rounds = 9;  // counts.py takes the median
constexpr godwit::Tag tag = 5;
constexpr std::uint16_t notification = 3;
constexpr std::size_t batch = 16;

struct Side {
  explicit Side(godwit::Context& its_context)
      : context(its_context),
        world(context.world()),
        memory(64),
        window(world.window_bytes(memory.data(), memory.size())) {}
  godwit::Context& context;
  godwit::Communicator world;
  std::vector<std::byte> memory;
  godwit::ByteWindow window;
  std::array<std::byte, 8> small{};
};

struct Stage {
  Side& from;  // rank 0
  Side& to;    // rank 1
  std::array<godwit::Request, batch> requests{};
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

void put_8(Stage& stage) { stage.from.window.put_bytes(stage.from.small.data(), 8, 1, 0, {}).wait(); }
void flush(Stage& stage) { stage.from.window.flush(1); }
godwit::Request get(Side& from) { return from.window.get_bytes(from.small.data(), 8, 1, 0); }
void send_8(Stage& stage) { stage.from.world.send(stage.from.small, 1, tag); }
void receive_8(Stage& stage) { stage.to.world.recv(stage.to.small, 0, tag); }
void put_notify_8(Stage& stage) {
  stage.requests[0] = stage.from.window.put_bytes(stage.from.small.data(), 8, 1, 0, {.notify = notification});
}
void wait(Stage& stage) { stage.requests[0].wait(); }
void wait_notify(Stage& stage) { stage.to.window.wait_notify(notification); }
// Credits, receives to post again: so that each step begins where it did in the last round.
void settle(Stage& stage) {
  for (int i = 0; i < 3; ++i) {
    stage.from.context.progress();
    stage.to.context.progress();
  }
}

// Steps that are not counted: they connect, fill the pools, and go round the queues.
void warm_up(Stage& stage) {
  for (int i = 0; i < warm_up_rounds; ++i) {
    auto answer = stage.from.world.irecv(stage.from.small, 1, tag);
    send_8(stage);
    receive_8(stage);
    stage.to.world.send(stage.to.small, 0, tag);
    answer.wait();
    put_8(stage);
    flush(stage);
    get(stage.from).wait();
    put_notify_8(stage);
    wait(stage);
    wait_notify(stage);
    settle(stage);
  }
}

void count_steps(Stage& stage) {
  count("put_8", stage, put_8);
  count("flush", stage, flush);
  settle(stage);
  count("get_8", stage, [](Stage& s) { s.requests[0] = get(s.from); });
  count("wait_for_get_8", stage, wait);
  settle(stage);
  for (godwit::Request& request : stage.requests) request = get(stage.from);
  count("complete_16_gets", stage, [](Stage& s) { s.from.context.progress(); });
  for (godwit::Request& request : stage.requests) request.wait();
  settle(stage);
  count("put_notify_8", stage, put_notify_8);
  wait(stage);
  count("wait_notify", stage, wait_notify);
  settle(stage);
  // Posted before the message comes.
  count("post_receive_8", stage, [](Stage& s) { s.requests[0] = s.to.world.irecv(s.to.small, 0, tag); });
  count("send_8", stage, send_8);
  count("wait_for_posted_8", stage, wait);
  settle(stage);
  // The message is in the queue.
  send_8(stage);
  count("receive_8", stage, receive_8);
  settle(stage);
  count("poll_nothing", stage, [](Stage& s) { s.to.context.progress(); });
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
  godwit::instructions::start_fake_libibverbs();
  std::array<Side*, 2> sides{};
  std::latch ready(2), finished(1);
  godwit::runtime::run_local_ranks(2,
                                   [&](godwit::Context& context) {
                                     Side side(context);
                                     sides[static_cast<std::size_t>(context.rank())] = &side;
                                     ready.arrive_and_wait();
                                     if (context.rank() == 1) return finished.wait();
                                     Stage stage{*sides[0], *sides[1]};
                                     warm_up(stage);
                                     for (int i = 0; i < rounds; ++i) count_steps(stage);
                                     finished.count_down();
                                   },
                                   {.set = {{"TRANSPORTS", "verbs"}}});
  return 0;
}
