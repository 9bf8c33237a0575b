// Active messages, and awaiting requests in coroutines.
#include "harness.hpp"

#include <godwit/coroutine.hpp>

#include <array>
#include <cstring>

namespace suite {
namespace {

using godwit::ActiveMessage;
using godwit::Communicator;
using godwit::Request;

template <class Condition>
void progress_until(Condition condition) {
  while (!condition()) context().progress();
}

TEST(ActiveMessages, HandlerSeesSourceAndPayloadOfEverySize) {
  Communicator comm = world().dup();
  const std::vector<std::size_t> sizes = interesting_sizes(1 << 20);
  std::size_t seen = 0;
  comm.on_message(5, [&](const ActiveMessage& message) {
    ASSERT_LT(seen, sizes.size());
    EXPECT_EQ(message.source, left());
    ASSERT_EQ(message.payload.size(), sizes[seen]);
    EXPECT_EQ(first_wrong(message.payload, seen), std::nullopt);
    ++seen;
  });
  for (std::size_t i = 0; i < sizes.size(); ++i) comm.message(pattern(sizes[i], i), right(), 5).wait();
  progress_until([&] { return seen == sizes.size(); });
  comm.barrier();
  comm.on_message(5, {});
}

TEST(ActiveMessages, MessageWaitsForItsHandler) {
  Communicator comm = world().dup();
  const std::array<int, 2> out{1, 2};
  comm.message(out[0], right(), 9).wait();
  comm.message(out[1], right(), 9).wait();
  expect_usable(comm);  // sent after the messages: those have arrived
  std::vector<int> seen;
  comm.on_message(9, [&](const ActiveMessage& message) {
    int value = 0;
    std::memcpy(&value, message.payload.data(), sizeof value);
    seen.push_back(value);
  });
  progress_until([&] { return seen.size() == 2; });
  EXPECT_EQ(seen, (std::vector<int>{1, 2}));
  comm.barrier();
}

TEST(ActiveMessages, HandlerMayAnswer) {
  Communicator comm = world().dup();
  std::vector<Request> answers;
  answers.reserve(static_cast<std::size_t>(size()));
  int answered = 0;
  static int mine = 0;
  mine = rank() + 1000;
  comm.on_message(1, [&](const ActiveMessage& message) { answers.push_back(comm.message(mine, message.source, 2)); });
  comm.on_message(2, [&](const ActiveMessage& message) {
    int value = 0;
    ASSERT_EQ(message.payload.size(), sizeof value);
    std::memcpy(&value, message.payload.data(), sizeof value);
    EXPECT_EQ(value, message.source + 1000);
    ++answered;
  });
  for (int to = 0; to < size(); ++to) comm.message_bytes(nullptr, 0, to, 1).wait();
  progress_until([&] { return answered == size() && answers.size() == static_cast<std::size_t>(size()); });
  godwit::wait_all(answers);
  comm.barrier();
  comm.on_message(1, {});
  comm.on_message(2, {});
}

godwit::Task bounce(Communicator comm, int tag, int rounds, int& done) {
  int out = 0, in = 0;
  for (out = 0; out < rounds; ++out) {
    Request receive = comm.irecv(in, left(), tag);
    co_await comm.isend(out, right(), tag);
    const godwit::MessageInfo info = co_await std::move(receive);
    EXPECT_EQ(info.source, left());
    EXPECT_EQ(in, out);
  }
  ++done;
}

TEST(Coroutines, InterleaveAtTheirWaits) {
  int done = 0;
  std::vector<godwit::Task> tasks;
  for (int tag = 0; tag < 5; ++tag) tasks.push_back(bounce(world(), tag, 10 + tag, done));
  godwit::run(std::move(tasks));
  EXPECT_EQ(done, 5);
}

}  // namespace
}  // namespace suite
