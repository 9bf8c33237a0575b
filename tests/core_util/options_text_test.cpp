#include "core/options_text.hpp"

#include "core/aliases.hpp"
#include "core/core_options.hpp"

#include <gtest/gtest.h>

namespace godwit::core {
namespace {

struct OptionsText : testing::Test {
  OptionsText() {
    set.add<CoreOptions>();
    add_nccl_aliases(set);
    set.ignore("NCCL_XPU_LIST", "this build has no XPU");
  }
  static bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
  OptionSet set;
};

TEST_F(OptionsText, TableHasEveryOption) {
  const std::string text = options_text(set);
  for (const OptionBase* option : set.get<CoreOptions>().options()) {
    EXPECT_TRUE(has(text, "GODWIT_" + option->name() + " ")) << option->name();
    EXPECT_TRUE(has(text, option->help())) << option->name();
  }
  EXPECT_TRUE(has(text, "size; default 64K\n")) << text;
  EXPECT_TRUE(has(text, "one of error, warn, info, debug, trace; default warn\n")) << text;
  EXPECT_TRUE(has(text, "taken as GODWIT_TREE_THRESHOLD\n")) << text;
  EXPECT_TRUE(has(text, "not used: this build has no XPU\n")) << text;
  EXPECT_FALSE(has(text, "; now ")) << text;
}

TEST_F(OptionsText, TableTellsWhatIsSetAndWhere) {
  set.load({{"NCCL_DEBUG", "INFO"}, {"GODWIT_SECRET", "hush"}}, {{"EAGER_LIMIT", "4096"}});
  const std::string text = options_text(set);
  EXPECT_TRUE(has(text, "default warn; now info, from NCCL_DEBUG\n")) << text;
  EXPECT_TRUE(has(text, "default 64K; now 4K, from ContextOptions EAGER_LIMIT\n")) << text;
  EXPECT_TRUE(has(text, "now (hidden), from GODWIT_SECRET\n")) << text;
  EXPECT_FALSE(has(text, "hush"));
}

TEST_F(OptionsText, MarkdownIsTheSameWhateverIsSet) {
  const std::string before = options_markdown(set);
  set.load({{"GODWIT_DEBUG", "trace"}}, {});
  EXPECT_EQ(options_markdown(set), before);
  for (const OptionBase* option : set.get<CoreOptions>().options())
    EXPECT_TRUE(has(before, "\n| `GODWIT_" + option->name() + "` | ")) << option->name();
}

TEST_F(OptionsText, MarkdownCellsHoldBars) {
  struct Bars : OptionGroup {
    Bars() : OptionGroup("bars") {}
    Option<bool> bar{*this, "BAR", false, "a|b"};
  };
  set.add<Bars>();
  EXPECT_TRUE(has(options_markdown(set), "| `GODWIT_BAR` | yes or no | no | a\\|b |\n")) << options_markdown(set);
}

// Help is one line each, or the tables break.
TEST_F(OptionsText, HelpIsOneLine) {
  for (const auto& group : set.groups())
    for (const OptionBase* option : group->options()) {
      EXPECT_FALSE(has(option->help(), "\n")) << option->name();
      EXPECT_GT(option->help().size(), 10U) << option->name();
      EXPECT_LT(option->help().size(), 110U) << option->name();
    }
}

}  // namespace
}  // namespace godwit::core
