// Ping-pong: a message goes to and fro between ranks 0 and 1; prints half the round trip for several sizes.
//
//   mpirun -np 2 build/bin/examples/ping_pong
#include <godwit/godwit.hpp>

#include <chrono>
#include <cstdio>
#include <vector>

namespace {

constexpr int rounds = 200;

/// Seconds for one way.
double one_way(godwit::Communicator& comm, std::vector<char>& buffer) {
  const int other = 1 - comm.rank();
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round) {
    if (comm.rank() == 0) {
      comm.send(buffer, other);
      comm.recv(buffer, other);
    } else {
      comm.recv(buffer, other);
      comm.send(buffer, other);
    }
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / (2 * rounds);
}

}  // namespace

int main() try {
  godwit::Context context;
  godwit::Communicator comm = context.world();
  if (comm.size() != 2) {
    std::fprintf(stderr, "ping_pong needs two ranks, it has %d: mpirun -np 2 ping_pong\n", comm.size());
    return 1;
  }
  for (const std::size_t bytes : {0UL, 8UL, 1024UL, 65536UL, 1048576UL}) {
    std::vector<char> buffer(bytes);
    (void)one_way(comm, buffer);  // connects, and warms the caches
    const double seconds = one_way(comm, buffer);
    if (comm.rank() == 0)
      std::printf("%8zu bytes  %9.2f us  %9.1f MB/s\n", bytes, seconds * 1e6,
                  static_cast<double>(bytes) / seconds / 1e6);
  }
} catch (const godwit::Error& error) {
  std::fprintf(stderr, "ping_pong: %s\n", error.what());
  return 1;
}
