// Where shared memory comes from, and what happens when there is none.
#include "core/shared_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <godwit/error.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>

namespace godwit::core {
namespace {

class FromSource : public ::testing::TestWithParam<SharedMemorySource> {};

TEST_P(FromSource, IsZeroedSharedAndNameless) {
  const auto names = [] {
    std::size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      n += entry.path().filename().string().starts_with("godwit-test") ? 1 : 0;
    return n;
  };
  SharedMemory memory = SharedMemory::create(100'000, "godwit-test", GetParam());
  EXPECT_EQ(names(), 0U);
  EXPECT_GE(memory.size(), 100'000U);
  EXPECT_TRUE(std::all_of(memory.data(), memory.data() + memory.size(), [](std::byte b) { return b == std::byte{0}; }));
  UniqueFd copy(::fcntl(memory.fd(), F_DUPFD_CLOEXEC, 0));
  const SharedMemory other = SharedMemory::attach(std::move(copy), 100'000, "test");
  memory.data()[99'999] = std::byte{7};
  EXPECT_EQ(other.data()[99'999], std::byte{7});
}

INSTANTIATE_TEST_SUITE_P(All, FromSource,
                         ::testing::Values(SharedMemorySource::memfd, SharedMemorySource::unnamed_file,
                                           SharedMemorySource::unlinked_file));

TEST(SharedMemory, ShorterFileThanPromisedIsAnError) {
  SharedMemory memory = SharedMemory::create(4096, "godwit-test");
  UniqueFd copy(::fcntl(memory.fd(), F_DUPFD_CLOEXEC, 0));
  EXPECT_THROW(SharedMemory::attach(std::move(copy), 8193, "test"), Error);
}

TEST(SharedMemory, NobodyCanCutAMemfdShort) {
  const SharedMemory memory = SharedMemory::create(8192, "godwit-test");
  EXPECT_NE(::ftruncate(memory.fd(), 4096), 0);
}

TEST(SharedMemory, IsAvailableHere) { EXPECT_EQ(shared_memory_unavailable_reason(), ""); }

// Runs `body` in a child; its result is the exit status.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

constexpr int skipped = 77;

// A /dev/shm of 64 KiB, as in a container, in a mount namespace of its own.
TEST(SharedMemory, TooSmallDevShmIsAnErrorThatSaysSo) {
  const int status = in_child([] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64k") != 0)
      return skipped;
    for (const auto source : {SharedMemorySource::unnamed_file, SharedMemorySource::unlinked_file}) {
      SharedMemory small = SharedMemory::create(4096, "godwit-test", source);
      std::memset(small.data(), 1, small.size());
      try {
        const SharedMemory large = SharedMemory::create(1 << 20, "godwit-test", source);
        std::memset(large.data(), 1, large.size());
        return 1;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::no_memory) return 2;
        if (std::strstr(error.what(), "--shm-size") == nullptr || std::strstr(error.what(), "64K") == nullptr) return 3;
      }
    }
    return std::filesystem::is_empty("/dev/shm") ? 0 : 4;
  });
  if (status == skipped) GTEST_SKIP() << "cannot make a mount namespace here";
  EXPECT_EQ(status, 0);
}

// No /dev/shm at all, and no memfd: an error that says what was tried.
TEST(SharedMemory, NoSourceAtAllIsAnErrorThatSaysSo) {
  const int status = in_child([] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", "/dev/shm", "tmpfs", MS_RDONLY, "size=64k") != 0)
      return skipped;
    try {
      SharedMemory::create(4096, "godwit-test", SharedMemorySource::unnamed_file);
      return 1;
    } catch (const Error& error) {
      const bool both =
          std::strstr(error.what(), "O_TMPFILE") != nullptr && std::strstr(error.what(), "mkstemp") != nullptr;
      return error.code() == ErrorCode::no_memory && both ? 0 : 2;
    }
  });
  if (status == skipped) GTEST_SKIP() << "cannot make a mount namespace here";
  EXPECT_EQ(status, 0);
}

TEST(SharedMemory, LimitsAreErrorsThatNameThem) {
  EXPECT_EQ(in_child([] {
              const rlimit limit{64 << 10, 64 << 10};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              try {
                SharedMemory::create(1 << 20, "godwit-test");
                return 1;
              } catch (const Error& error) {
                return error.code() == ErrorCode::no_memory && std::strstr(error.what(), "ulimit -f") ? 0 : 2;
              }
            }),
            0);
  EXPECT_EQ(in_child([] {
              const rlimit limit{3, 3};
              ::setrlimit(RLIMIT_NOFILE, &limit);
              try {
                SharedMemory::create(4096, "godwit-test");
                return 1;
              } catch (const Error& error) {
                return error.code() == ErrorCode::no_memory && std::strstr(error.what(), "ulimit -n") ? 0 : 2;
              }
            }),
            0);
}

}  // namespace
}  // namespace godwit::core
