// Runs the tests of the public API on every rank of a job, under any launcher.
//
//   suite [--multiple] [--large] [--gtest_filter=...]
//
// Rank 0 reports as GoogleTest does; the others only when something fails. A failure on any rank ends the
// whole job at the end of that test, because the others may be waiting for the rank that failed.
#include "harness.hpp"

#include <cstdio>
#include <memory>
#include <string_view>

namespace {

std::unique_ptr<godwit::Context> the_context;
suite::Settings the_settings;

class RankListener : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo&) override { suite::world().barrier(); }  // nobody is in the test before
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", suite::rank(), result.file_name() ? result.file_name() : "?",
                 result.line_number(), result.summary());
  }
  void OnTestEnd(const testing::TestInfo& info) override {
    if (info.result()->Passed() || info.result()->Skipped()) return;
    std::fprintf(stderr, "rank %d: %s.%s FAILED\n", suite::rank(), info.test_suite_name(), info.name());
    the_context->abort(1, "a test of the suite failed");
  }
};

}  // namespace

namespace suite {
const Settings& settings() { return the_settings; }
godwit::Context& context() { return *the_context; }
godwit::Communicator world() { return the_context->world(); }
}  // namespace suite

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--multiple")
      the_settings.multiple = true;
    else if (argument == "--large")
      the_settings.large = true;
    else
      return std::fprintf(stderr, "suite: unknown argument %s\n", argv[i]), 2;
  }
  try {
    godwit::ContextOptions options;
    if (the_settings.multiple) options.threads = godwit::ThreadMode::multiple;
    the_context = std::make_unique<godwit::Context>(options);
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (suite::rank() == 0)
      std::printf("%s\n", the_context->banner().c_str());
    else
      delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new RankListener);
    const int status = RUN_ALL_TESTS();
    the_context.reset();
    return status;
  } catch (const godwit::Error& error) {
    std::fprintf(stderr, "suite: %s\n", error.what());
    return 1;
  }
}
