// Cross-memory attach, and its errors in words. The peer is this process, or a child.
#include "shm/cma.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <vector>

namespace godwit::shm {
namespace {

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

Nonce some_nonce() {
  Nonce nonce;
  for (std::size_t i = 0; i < nonce.size(); ++i) nonce[i] = static_cast<std::byte>(i * 17 + 3);
  return nonce;
}

const Nonce nonce = some_nonce();

TEST(Cma, ProbeProvesThePeer) {
  EXPECT_TRUE(Cma::probe(::getpid(), address_of(nonce.data()), nonce).works());
  Nonce wrong = nonce;
  wrong[3] ^= std::byte{1};
  const Cma other = Cma::probe(::getpid(), address_of(nonce.data()), wrong);
  EXPECT_FALSE(other.works());
  EXPECT_NE(other.reason().find("is not the peer"), std::string::npos);
  EXPECT_NE(Cma::probe(0, address_of(nonce.data()), nonce).reason().find("namespace"), std::string::npos);
  EXPECT_FALSE(Cma::probe(::getpid(), 8, nonce).works());
}

TEST(Cma, CopiesBothWays) {
  const Cma cma = Cma::probe(::getpid(), address_of(nonce.data()), nonce);
  std::vector<std::byte> from(3 << 20, std::byte{5}), to(3 << 20);
  EXPECT_TRUE(cma.write(from, address_of(to.data())).ok());
  EXPECT_EQ(from, to);
  std::vector<std::byte> back(3 << 20);
  EXPECT_TRUE(cma.read(back, address_of(to.data())).ok());
  EXPECT_EQ(back, to);
  EXPECT_TRUE(cma.read({}, address_of(to.data())).ok());
}

// A hole in the middle: the error says how far it came.
TEST(Cma, UnmappedMemoryIsAnErrorInWords) {
  const Cma cma = Cma::probe(::getpid(), address_of(nonce.data()), nonce);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ::munmap(static_cast<std::byte*>(memory) + page, page);
  std::vector<std::byte> buffer(2 * page);
  for (const Status& status : {cma.read(buffer, address_of(memory)), cma.write(buffer, address_of(memory))}) {
    EXPECT_EQ(status.code(), ErrorCode::transport);
    EXPECT_NE(status.message().find("not mapped"), std::string::npos) << status.message();
  }
  ::munmap(memory, page);
}

TEST(Cma, DeadPeerIsAPeerFailure) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    std::_Exit(0);
  }
  const Cma cma = Cma::probe(child, address_of(nonce.data()), nonce);  // the same address in a forked copy
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (!cma.works()) GTEST_SKIP() << cma.reason();
  std::vector<std::byte> buffer(100);
  const Status status = cma.read(buffer, address_of(nonce.data()));
  EXPECT_EQ(status.code(), ErrorCode::peer_failed);
  EXPECT_NE(status.message().find("is gone"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace godwit::shm
