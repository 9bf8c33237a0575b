// What counts.py counts the instructions of, over RDMA: the steps of small transfers between two contexts over adapters
// in memory, both driven in turn by one thread. Everything goes through the public API and the shared library; what is
// below libibverbs is not counted. `verbs_instruction_probe --build` prints how it was built.
#include <cstddef>
#include <vector>

#include "fake_libibverbs.hpp"
#include "stage.hpp"

namespace godwit::instructions {
namespace {

constexpr int warm_up_rounds = 1000;

void put_8(Stage& stage) { stage.from.window.put_bytes(stage.from.small.data(), 8, 1, 0, {}).wait(); }
void flush(Stage& stage) { stage.from.window.flush(1); }
Request get(Side& from) { return from.window.get_bytes(from.small.data(), 8, 1, 0); }
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
  for (Request& request : stage.requests) request = get(stage.from);
  count("complete_16_gets", stage, [](Stage& s) { s.from.context.progress(); });
  for (Request& request : stage.requests) request.wait();
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

}  // namespace
}  // namespace godwit::instructions

int main(int argc, char** argv) {
  using namespace godwit::instructions;
  if (asks_for_build(argc, argv)) {
    print_build();
    return 0;
  }
  start_fake_libibverbs();
  run<std::vector<std::byte>>({.set = {{"TRANSPORTS", "verbs"}}}, warm_up, count_steps);
  return 0;
}
