// Hello: every rank says who it is. Rank 0 collects the lines, so that they come out in order.
//
//   mpirun -np 4 build/bin/examples/hello
#include <godwit/godwit.hpp>

#include <unistd.h>

#include <cstdio>
#include <string>

int main() try {
  godwit::Context context;  // joins the job, whichever launcher started it
  godwit::Communicator comm = context.world();

  const std::string line = "hello from rank " + std::to_string(comm.rank()) + " of " + std::to_string(comm.size()) +
                           ", process " + std::to_string(getpid());
  if (comm.rank() != 0) {
    comm.send(line, 0);
    return 0;
  }
  std::printf("%s\n%s\n", context.banner().c_str(), line.c_str());
  for (int from = 1; from < comm.size(); ++from) {
    std::string other(comm.probe(from).size, ' ');  // as long as the message that is waiting
    comm.recv(other, from);
    std::printf("%s\n", other.c_str());
  }
} catch (const godwit::Error& error) {
  std::fprintf(stderr, "hello: %s\n", error.what());
  return 1;
}
