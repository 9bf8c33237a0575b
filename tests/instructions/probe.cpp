// What counts.py counts the instructions of: the steps of small transfers between two contexts over shared memory,
// both driven in turn by one thread, so that the counts are the same in every run. Everything goes through the
// public API and the shared library, as in a user's program. `instruction_probe --build` prints how it was built.
#include <godwit/memory.hpp>

#include <cstddef>

#include "stage.hpp"

namespace godwit::instructions {
namespace {

constexpr int warm_up_rounds = 3000;  // some laps of the ring

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
  count("post_receive_8", stage, [](Stage& s) { s.requests[0] = s.to.world.irecv(s.to.small, 0, tag); });
  count("send_8", stage, send_8);
  count("wait_for_posted_8", stage, [](Stage& s) { s.requests[0].wait(); });
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

}  // namespace
}  // namespace godwit::instructions

int main(int argc, char** argv) {
  using namespace godwit::instructions;
  if (asks_for_build(argc, argv)) {
    print_build();
    return 0;
  }
  run<godwit::shared_vector<std::byte>>({}, warm_up, count_steps);
  return 0;
}
