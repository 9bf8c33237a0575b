// Several threads of each rank talk at once, each with its own tags (ThreadMode::multiple: suite --multiple).
#include "harness.hpp"

#include <atomic>
#include <thread>

namespace suite {
namespace {

using godwit::Request;

void talk(godwit::Communicator comm, int thread, std::atomic<int>& wrong) {
  const int next = (comm.rank() + 1) % comm.size(), previous = (comm.rank() + comm.size() - 1) % comm.size();
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t bytes = (i * 7919 + static_cast<std::size_t>(thread) * 31) % (i % 20 == 0 ? 300000 : 5000);
    const std::uint64_t seed = i * 100 + static_cast<std::uint64_t>(thread);
    std::vector<std::byte> in(bytes);
    Request receive = comm.irecv(in, previous, thread);
    Outgoing send(comm, bytes, seed, next, thread);
    send.wait();
    if (receive.wait().size != bytes || first_wrong(in, seed)) ++wrong;
  }
}

void run_threads(const std::function<godwit::Communicator(int)>& comm_of) {
  if (!settings().multiple) GTEST_SKIP() << "needs --multiple";
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(talk, comm_of(i), i, std::ref(wrong));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, ShareOneCommunicator) {
  run_threads([](int) { return world(); });
}

TEST(Threads, HaveACommunicatorEach) {
  std::vector<godwit::Communicator> copies;
  for (int i = 0; i < 4; ++i) copies.push_back(world().dup());
  run_threads([&](int i) { return copies[static_cast<std::size_t>(i)]; });
}

}  // namespace
}  // namespace suite
