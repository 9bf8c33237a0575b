#include "core/options.hpp"

#include "core/aliases.hpp"
#include "core/core_options.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

namespace godwit::core {
namespace {

using Variables = OptionSet::Variables;

struct Options : testing::Test {
  Options() {
    set.add<CoreOptions>();
    add_nccl_aliases(set);
    for (const char* name : {"GODWIT_XPU_LIST", "NCCL_XPU_LIST"}) set.ignore(name, "this build has no XPU");
  }
  const CoreOptions& core() const { return set.get<CoreOptions>(); }
  std::string refusal(const Variables& variables, const Variables& overrides = {}) {
    try {
      set.load(variables, overrides);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return "accepted";
  }

  OptionSet set;
};

TEST_F(Options, DefaultsAreAsDocumented) {
  EXPECT_TRUE(set.load({}, {}).empty());
  EXPECT_EQ(core().debug->value, "warn");
  EXPECT_EQ(core().log_level(), LogLevel::warn);
  EXPECT_EQ(core().eager_limit->value, 64U * 1024U);
  EXPECT_EQ(core().eager_window->value, 1024U * 1024U);
  EXPECT_EQ(core().stall_warning->value, 30);
  EXPECT_EQ(core().startup_timeout->value, 60);
  EXPECT_EQ(core().wait->value, "auto");
  EXPECT_EQ(core().state_signal->value, "usr1");
  EXPECT_TRUE(core().transports->empty());
  EXPECT_FALSE(core().tree_threshold->has_value());
}

TEST_F(Options, TakesVariablesAndIgnoresOthers) {
  const auto notes = set.load({{"GODWIT_EAGER_LIMIT", "4K"}, {"GODWIT_TRANSPORTS", "shm,ucx"}, {"PATH", "/bin"}}, {});
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(core().eager_limit->value, 4096U);
  EXPECT_EQ(core().eager_limit.origin(), "GODWIT_EAGER_LIMIT");
  EXPECT_EQ(*core().transports, (std::vector<std::string>{"shm", "ucx"}));
  EXPECT_FALSE(core().debug.is_set());
}

TEST_F(Options, EveryLevelIsKnownToTheLog) {
  const std::pair<const char*, LogLevel> levels[] = {{"error", LogLevel::error},
                                                     {"warn", LogLevel::warn},
                                                     {"info", LogLevel::info},
                                                     {"debug", LogLevel::debug},
                                                     {"trace", LogLevel::trace}};
  for (const auto& [name, level] : levels) {
    set.load({{"GODWIT_DEBUG", name}}, {});
    EXPECT_EQ(core().log_level(), level) << name;
  }
}

// Public case 20: mistyped names and values, and a variable that means nothing in this build.
TEST_F(Options, MistypedNameSuggestsTheNearest) {
  EXPECT_EQ(refusal({{"GODWIT_EAGER_LIMTI", "8"}}),
            "there is no option GODWIT_EAGER_LIMTI: did you mean GODWIT_EAGER_LIMIT?");
  EXPECT_EQ(refusal({{"GODWIT_XPU_LITS", "0"}}), "there is no option GODWIT_XPU_LITS: did you mean GODWIT_XPU_LIST?");
}

TEST_F(Options, UnknownNameWithNothingNearSaysWhereTheListIs) {
  EXPECT_EQ(refusal({{"GODWIT_QUXQUXQUX", "1"}}),
            "there is no option GODWIT_QUXQUXQUX; `godwit info --options` lists all");
  EXPECT_EQ(refusal({{"GODWIT_", "1"}}), "there is no option GODWIT_; `godwit info --options` lists all");
}

TEST_F(Options, MistypedValueNamesWhatIsAccepted) {
  EXPECT_EQ(refusal({{"GODWIT_DEBUG", "infoo"}}),
            "GODWIT_DEBUG=infoo: not one of error, warn, info, debug, trace (did you mean info?)");
}

TEST_F(Options, VariableOfAnAbsentLayerIsSetButNotUsed) {
  const auto notes = set.load({{"GODWIT_XPU_LIST", "0"}, {"NCCL_XPU_LIST", "3"}}, {});
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_TRUE(notes[0].warning);
  EXPECT_EQ(notes[0].text, "GODWIT_XPU_LIST=0 is set but not used: this build has no XPU");
  EXPECT_TRUE(notes[1].warning);
  EXPECT_EQ(notes[1].text, "NCCL_XPU_LIST=3 is set but not used: this build has no XPU");
}

TEST_F(Options, LimitsAreChecked) {
  EXPECT_EQ(refusal({{"GODWIT_EAGER_WINDOW", "63K"}}), "GODWIT_EAGER_WINDOW=63K: not a size of at least 64K");
  EXPECT_EQ(refusal({{"GODWIT_EAGER_LIMIT", "65K"}}), "GODWIT_EAGER_LIMIT=65K: not a size of at most 64K");
  EXPECT_EQ(refusal({{"GODWIT_PORT", "65536"}}), "GODWIT_PORT=65536: not a port number, 0 to 65535");
  EXPECT_EQ(refusal({{"GODWIT_STARTUP_TIMEOUT", "0"}}), "GODWIT_STARTUP_TIMEOUT=0: not a time above 0 seconds");
}

TEST_F(Options, AllMistakesAreNamedAtOnce) {
  EXPECT_EQ(refusal({{"GODWIT_DEBUG", "loud"}, {"GODWIT_PROT", "1"}}, {{"EAGER_LIMIT", "x"}, {"WAIIT", "spin"}}),
            "GODWIT_DEBUG=loud: not one of error, warn, info, debug, trace\n"
            "there is no option GODWIT_PROT: did you mean GODWIT_PORT?\n"
            "ContextOptions EAGER_LIMIT=x: not a size such as 8, 4K, 64M\n"
            "ContextOptions: there is no option WAIIT: did you mean WAIT?");
}

TEST_F(Options, OverrideIsStrongerThanTheEnvironment) {
  set.load({{"GODWIT_WAIT", "spin"}}, {{"WAIT", "sleep"}});
  EXPECT_EQ(core().wait->value, "sleep");
  EXPECT_EQ(core().wait.origin(), "ContextOptions WAIT");
}

TEST_F(Options, OverrideWithThePrefixIsToldTheNameWithout) {
  EXPECT_EQ(refusal({}, {{"GODWIT_WAIT", "sleep"}}),
            "ContextOptions: there is no option GODWIT_WAIT: did you mean WAIT?");
}

TEST_F(Options, EmptyValueCountsAsNotSet) {
  EXPECT_TRUE(set.load({{"GODWIT_DEBUG", ""}, {"NCCL_DEBUG", ""}, {"NCCL_XPU_LIST", ""}}, {}).empty());
  EXPECT_FALSE(core().debug.is_set());
  EXPECT_NE(refusal({{"GODWIT_DEBGU", ""}}), "accepted");
}

TEST_F(Options, NcclVariablesAreAliases) {
  const auto notes = set.load({{"NCCL_ALGO", "allreduce:ring,tree"},
                               {"NCCL_DEBUG", "INFO"},
                               {"NCCL_NET_GDR_LEVEL", "5"},
                               {"NCCL_SOCKET_IFNAME", "^docker,lo"},
                               {"NCCL_TREE_THRESHOLD", "0"}},
                              {});
  EXPECT_EQ(*core().algo, "allreduce:ring,tree");
  EXPECT_EQ(core().debug->value, "info");
  EXPECT_EQ(core().debug.origin(), "NCCL_DEBUG");
  EXPECT_EQ(*core().socket_ifname, (std::vector<std::string>{"^docker", "lo"}));
  EXPECT_EQ(*core().tree_threshold, Bytes{0});
  ASSERT_EQ(notes.size(), 4U);  // nothing about NCCL_NET_GDR_LEVEL
  for (const OptionNote& note : notes) EXPECT_FALSE(note.warning);
  EXPECT_EQ(notes[0].text, "NCCL_DEBUG=INFO is taken as GODWIT_DEBUG=info");
}

TEST_F(Options, NcclDebugLevels) {
  const std::pair<const char*, const char*> levels[] = {{"VERSION", "warn"}, {"WARN", "warn"},  {"INFO", "info"},
                                                        {"info", "info"},    {"ABORT", "info"}, {"TRACE", "trace"}};
  for (const auto& [theirs, ours] : levels) {
    OptionSet fresh;
    fresh.add<CoreOptions>();
    add_nccl_aliases(fresh);
    fresh.load({{"NCCL_DEBUG", theirs}}, {});
    EXPECT_EQ(fresh.get<CoreOptions>().debug->value, ours) << theirs;
  }
  EXPECT_EQ(refusal({{"NCCL_DEBUG", "LOUD"}}), "NCCL_DEBUG=LOUD: not one of VERSION, WARN, INFO, ABORT, TRACE");
}

TEST_F(Options, OwnVariableIsStrongerThanAnAlias) {
  // The alias is not even looked at: a value that would be refused is no error.
  const auto notes = set.load({{"GODWIT_DEBUG", "error"}, {"NCCL_DEBUG", "LOUD"}}, {});
  EXPECT_EQ(core().debug->value, "error");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].text, "NCCL_DEBUG=LOUD has no effect: GODWIT_DEBUG is stronger");
}

TEST_F(Options, BadValueOfAnAliasNamesTheForeignVariable) {
  EXPECT_EQ(refusal({{"NCCL_TREE_THRESHOLD", "many"}}), "NCCL_TREE_THRESHOLD=many: not a size such as 8, 4K, 64M");
}

TEST_F(Options, EnvironmentIsRead) {
  ASSERT_EQ(setenv("GODWIT_TEST_VARIABLE", "a=b", 1), 0);
  ASSERT_EQ(setenv("NCCL_TEST_VARIABLE", "1", 1), 0);
  ASSERT_EQ(setenv("XGODWIT_TEST_VARIABLE", "1", 1), 0);
  const Variables variables = OptionSet::environment();
  unsetenv("GODWIT_TEST_VARIABLE");
  unsetenv("NCCL_TEST_VARIABLE");
  unsetenv("XGODWIT_TEST_VARIABLE");
  EXPECT_EQ(variables.at("GODWIT_TEST_VARIABLE"), "a=b");
  EXPECT_EQ(variables.at("NCCL_TEST_VARIABLE"), "1");
  EXPECT_FALSE(variables.contains("XGODWIT_TEST_VARIABLE"));
  EXPECT_FALSE(variables.contains("PATH"));
}

TEST_F(Options, DeclarationMistakesAreFound) {
  struct Again : OptionGroup {
    Again() : OptionGroup("again") {}
    Option<bool> debug{*this, "DEBUG", false, "again"};
  };
  struct Twice : OptionGroup {
    Twice() : OptionGroup("twice") {}
    Option<bool> a{*this, "SAME", false, "a"}, b{*this, "SAME", false, "b"};
  };
  EXPECT_THROW(set.add<Again>(), Error);
  EXPECT_THROW(set.add<Twice>(), Error);
  EXPECT_THROW(set.alias("NCCL_X", "NO_SUCH_OPTION"), Error);
}

}  // namespace
}  // namespace godwit::core
