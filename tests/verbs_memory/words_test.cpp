// RLIMIT_MEMLOCK, errors and counts in words.
#include "memory_api.hpp"
#include "verbs/lock_limit.hpp"
#include "verbs/registration_text.hpp"

#include <sys/resource.h>

namespace godwit::verbs {
namespace {

constexpr std::uint64_t mega = 1 << 20;

void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

TEST(LockLimit, IsTheProcessesOwn) {
  rlimit values{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &values), 0);
  const LockLimit limit = lock_limit();
  EXPECT_EQ(limit.soft, values.rlim_cur == RLIM_INFINITY ? LockLimit::unlimited : values.rlim_cur);
  EXPECT_EQ(limit.hard, values.rlim_max == RLIM_INFINITY ? LockLimit::unlimited : values.rlim_max);
}

TEST(LockLimit, WarnsOnlyWhenItIsSmall) {
  EXPECT_EQ(lock_limit_warning({}), "");
  EXPECT_EQ(lock_limit_warning({.soft = 512 * mega, .hard = 512 * mega}), "");
  EXPECT_EQ(lock_limit_warning({.soft = 8 * mega, .hard = 8 * mega}, 8 * mega), "");
  expect_words(lock_limit_warning({.soft = 8 * mega, .hard = 8 * mega}), {"RLIMIT_MEMLOCK is 8M", "512M", "limits.d"});
  expect_words(lock_limit_warning({.soft = 8 * mega, .hard = 8 * mega, .exempt = true}),
               {"8M", "CAP_IPC_LOCK", "soft-iWARP"});
}

TEST(LockLimit, SaysWhoCanRaiseIt) {
  const std::string self = how_to_raise({.soft = 8 * mega, .hard = LockLimit::unlimited});
  expect_words(self, {"ulimit -l unlimited"});
  EXPECT_EQ(self.find("administrator"), std::string::npos);
  expect_words(how_to_raise({.soft = 8 * mega, .hard = 16 * mega}),
               {"16M", "administrator", "/etc/security/limits.d", "LimitMEMLOCK=infinity", "slurm", "memlock=-1"});
}

RegistrationFailure failure_with(int error) {
  RegistrationFailure failure{.device = "mlx5_0", .address = 0x1000, .bytes = 64 * mega, .access = 7, .error = error};
  failure.limit = {.soft = 8 * mega, .hard = 8 * mega};
  failure.statistics.cached_regions = 2;
  failure.statistics.cached_bytes = 3 * mega;
  failure.statistics.explicit_regions = 1;
  failure.statistics.explicit_bytes = 2 * mega;
  return failure;
}

TEST(RegistrationText, NoMemoryNamesTheLimitAndWhatIsRegistered) {
  RegistrationFailure failure = failure_with(ENOMEM);
  const Status status = to_status(failure);
  EXPECT_EQ(status.code(), ErrorCode::no_memory);
  expect_words(status.message(),
               {"64M", "mlx5_0", "0x1000", "3 regions (5M)", "2 (3M)", "RLIMIT_MEMLOCK is 8M", "limits.d"});
  EXPECT_EQ(status.message().find("max_mr"), std::string::npos);
  failure.limit = {};
  expect_words(to_status(failure).message(), {"3 regions (5M)", "max_mr", "GODWIT_IB_REG_CACHE_BYTES"});
  EXPECT_EQ(to_status(failure).message().find("MEMLOCK"), std::string::npos);
  failure.limit = {.soft = 8 * mega, .hard = 8 * mega, .exempt = true};
  expect_words(to_status(failure).message(), {"RLIMIT_MEMLOCK is 8M", "max_mr"});
}

TEST(RegistrationText, EachErrorHasItsCodeAndRemedy) {
  EXPECT_EQ(to_status(failure_with(EFAULT)).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(to_status(failure_with(EINVAL)).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(to_status(failure_with(EOPNOTSUPP)).code(), ErrorCode::not_supported);
  EXPECT_EQ(to_status(failure_with(EIO)).code(), ErrorCode::transport);
  EXPECT_EQ(to_status(failure_with(0)).code(), ErrorCode::transport);
  expect_words(to_status(failure_with(EINVAL)).message(), {"max_mr_size", "Invalid argument"});
}

TEST(RegistrationText, CountsInOneLine) {
  RegistrationStatistics statistics;
  statistics.hits = 12;
  statistics.misses = 1;
  statistics.evictions = 4;
  statistics.invalidations = 5;
  statistics.cached_regions = 1;
  statistics.cached_bytes = 2 * mega;
  statistics.most_cached_bytes = 3 * mega;
  const std::string text = to_text(statistics);
  expect_words(text, {"12 hits", "1 miss,", "4 evictions", "5 invalidations", "1 region (2M)", "at most 3M"});
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace godwit::verbs
