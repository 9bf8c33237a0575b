#include "core/log.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <latch>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

namespace godwit::core {
namespace {

namespace fs = std::filesystem;

struct LogTest : testing::Test {
  LogTest() {
    std::string pattern = (fs::temp_directory_path() / "godwit_log_test_XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::system_error(errno, std::generic_category(), pattern);
    folder = pattern;
  }
  ~LogTest() override { fs::remove_all(folder); }

  std::string path(const char* name) const { return (folder / name).string(); }
  static std::string content(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::vector<std::string> lines(const std::string& file) {
    std::ifstream in(file);
    std::vector<std::string> result;
    for (std::string line; std::getline(in, line);) result.push_back(line);
    return result;
  }

  fs::path folder;
};

// Sends standard error elsewhere.
class Redirected {
 public:
  explicit Redirected(int fd) : saved_(dup(STDERR_FILENO)) { dup2(fd, STDERR_FILENO); }
  ~Redirected() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
  }

 private:
  int saved_;
};

TEST_F(LogTest, PrefixHasLevelAndThenRank) {
  Log log(LogLevel::trace, path("log"));
  log.info("{} before", 1);
  log.set_rank(3, "node1");
  log.trace("t");
  log.debug("d");
  log.info("i");
  log.warn("w");
  log.error("e");
  EXPECT_EQ(content(path("log")),
            "[godwit] info: 1 before\n"
            "[godwit 3@node1] trace: t\n"
            "[godwit 3@node1] debug: d\n"
            "[godwit 3@node1] info: i\n"
            "[godwit 3@node1] warning: w\n"
            "[godwit 3@node1] error: e\n");
}

TEST_F(LogTest, PercentSignsAreText) {
  Log log(LogLevel::info, path("log"));
  log.set_rank(0, "50%v%n%%");
  log.info("100% %v %t {}", "{}");
  EXPECT_EQ(content(path("log")), "[godwit 0@50%v%n%%] info: 100% %v %t {}\n");
}

TEST_F(LogTest, LevelsBelowAreNotWritten) {
  Log log(LogLevel::warn, path("log"));
  log.info("no");
  log.debug("no");
  log.write(LogLevel::info, "no");
  log.warn("yes");
  EXPECT_EQ(content(path("log")), "[godwit] warning: yes\n");
  EXPECT_FALSE(log.enabled(LogLevel::info));
  EXPECT_TRUE(log.enabled(LogLevel::error));
  Log off(LogLevel::off, path("off"));
  off.error("no");
  EXPECT_EQ(content(path("off")), "");
}

TEST_F(LogTest, FileNamesAreExpanded) {
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  Log log(LogLevel::info, path("%h.%p.100%%.%x"));
  log.info("here");
  const std::string expected = std::string(host) + "." + std::to_string(getpid()) + ".100%.%x";
  EXPECT_EQ(content(path(expected.c_str())), "[godwit] info: here\n");
}

TEST_F(LogTest, FileNamedByRankOpensWhenTheRankIsKnown) {
  const int early = open(path("early").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(early, 0);
  {
    Redirected redirected(early);
    Log log(LogLevel::info, path("log.%r"));
    log.info("early");
    log.set_rank(12, "node1");
    log.info("late");
  }
  close(early);
  EXPECT_EQ(content(path("early")), "[godwit] info: early\n");
  EXPECT_EQ(content(path("log.12")), "[godwit 12@node1] info: late\n");
}

TEST_F(LogTest, FileIsAppendedTo) {
  { Log(LogLevel::info, path("log")).info("one"); }
  { Log(LogLevel::info, path("log")).info("two"); }
  EXPECT_EQ(content(path("log")), "[godwit] info: one\n[godwit] info: two\n");
}

TEST_F(LogTest, FileThatCannotBeOpenedIsAnError) {
  const std::string file = path("no/such/folder");
  try {
    Log log(LogLevel::info, file);
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find(file + ": No such file or directory"), std::string::npos) << error.what();
  }
  Log by_rank(LogLevel::info, path("no/%r"));
  EXPECT_THROW(by_rank.set_rank(0, "node1"), Error);
}

// Each line must be "[godwit ...] info: <writer> <number> <length> xxx" with just as many x as it says.
void expect_whole(const std::vector<std::string>& lines, int writers, int lines_each) {
  std::map<int, int> next;
  for (const std::string& line : lines) {
    std::istringstream words(line.substr(std::min(line.find(']'), line.size())));
    std::string bracket, level, filling;
    int writer = -1, number = -1, length = -1;
    words >> bracket >> level >> writer >> number >> length;
    words.get();  // the space before the filling
    std::getline(words, filling);
    ASSERT_TRUE(line.starts_with("[godwit")) << line;
    ASSERT_EQ(bracket + level, "]info:") << line;
    ASSERT_EQ(filling, std::string(static_cast<std::size_t>(std::max(length, 0)), 'x')) << line;
    ASSERT_EQ(number, next[writer]++) << line;
  }
  ASSERT_EQ(static_cast<int>(next.size()), writers);
  for (const auto& [writer, count] : next) EXPECT_EQ(count, lines_each) << writer;
}

void write_lines(Log& log, int writer, int count) {
  for (int i = 0; i < count; ++i) {
    const int length = (i * 37 + writer) % 500;
    log.info("{} {} {} {:x>{}}", writer, i, length, "", length);
  }
}

TEST_F(LogTest, LinesAreWholeWithThreadsAndLogsOnOneFile) {
  constexpr int logs = 3, threads_each = 2, count = 2000;
  {
    std::latch start(logs * threads_each);
    std::vector<std::unique_ptr<Log>> all;
    std::vector<std::jthread> threads;
    for (int l = 0; l < logs; ++l) {
      Log& log = *all.emplace_back(std::make_unique<Log>(LogLevel::info, path("log")));
      for (int t = 0; t < threads_each; ++t)
        threads.emplace_back([&log, &start, l, t] {
          start.arrive_and_wait();
          if (t == 0) log.set_rank(l, "node1");  // while another thread writes
          write_lines(log, l * threads_each + t, count);
        });
    }
    threads.clear();  // joins, before the logs go
  }
  expect_whole(lines(path("log")), logs * threads_each, count);
}

// Processes that share one pipe as standard error, as ranks do. They write more than it holds; with `flags` O_NONBLOCK
// they must wait for the reader.
void expect_whole_over_pipe(const std::string& file, int flags) {
  constexpr int writers = 4, count = 2000;
  int ends[2], gate[2];
  ASSERT_EQ(pipe2(gate, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(fcntl(ends[1], F_SETFL, flags), 0);
  std::vector<pid_t> children;
  for (int w = 0; w < writers; ++w) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(gate[1]);
      char none;
      if (read(gate[0], &none, 1) != 0) _exit(1);  // until the gate closes: all start together
      dup2(ends[1], STDERR_FILENO);
      Log log(LogLevel::info);
      log.set_rank(w, "node0");
      write_lines(log, w, count);
      _exit(0);
    }
    children.push_back(child);
  }
  close(ends[1]);
  close(gate[0]);
  close(gate[1]);
  std::ofstream out(file);
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) out.write(buffer, got);
  close(ends[0]);
  out.close();
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  expect_whole(LogTest::lines(file), writers, count);
}

TEST_F(LogTest, LinesAreWholeOverASharedPipe) { expect_whole_over_pipe(path("out"), 0); }

TEST_F(LogTest, LinesAreWholeOverANonBlockingPipe) { expect_whole_over_pipe(path("out"), O_NONBLOCK); }

}  // namespace
}  // namespace godwit::core
