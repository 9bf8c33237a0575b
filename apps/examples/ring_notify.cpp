// One-sided ring: a token goes round all ranks by put with notification. The receiver takes no part in the transfer:
// it waits for the counter of its window, which goes up when the data is there.
//
//   mpirun -np 4 build/bin/examples/ring_notify
#include <godwit/godwit.hpp>

#include <cstdio>

int main() try {
  constexpr int laps = 100;
  constexpr int token_arrived = 1;  // which of the window's counters tells of it

  godwit::Context context;
  godwit::Communicator comm = context.world();
  const int next = (comm.rank() + 1) % comm.size();

  godwit::shared_vector<long> slot(1);              // memory that peers reach without a system call
  godwit::Window<long> window = comm.window(slot);  // collective: everybody exposes its slot

  for (int lap = 0; lap < laps; ++lap) {
    if (comm.rank() > 0 || lap > 0) window.wait_notify(token_arrived);
    const long token = slot[0] + 1;  // every hop adds one
    window.put(token, next, 0, {.notify = token_arrived}).wait();
  }
  if (comm.rank() == 0) window.wait_notify(token_arrived);  // the end of the last lap

  int status = 0;
  if (comm.rank() == 0) {
    const long expected = static_cast<long>(laps) * comm.size();
    status = slot[0] == expected ? 0 : 1;
    std::printf("the token made %ld hops, expected %ld: %s\n", slot[0], expected, status == 0 ? "right" : "WRONG");
  }
  window.free();
  return status;
} catch (const godwit::Error& error) {
  std::fprintf(stderr, "ring_notify: %s\n", error.what());
  return 1;
}
