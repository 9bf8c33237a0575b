#include "core/options.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

namespace godwit::core {
namespace {

struct Samples : OptionGroup {
  Samples() : OptionGroup("samples") {}
  Option<bool> flag{*this, "FLAG", false, "a flag"};
  Option<std::int64_t> number{*this, "NUMBER", 5, "a number"};
  Option<Bytes> size{*this, "SIZE", Bytes{8192}, "a size", [](const Bytes& given) {
                       return given.value >= 4096 ? std::string() : std::string("a size of at least 4K");
                     }};
  Option<std::optional<Bytes>> threshold{*this, "THRESHOLD", std::nullopt, "a size or nothing"};
  Option<Seconds> time{*this, "TIME", Seconds{30}, "a time"};
  Option<Choice> choice{*this, "CHOICE", Choice{"ring", {"ring", "tree"}}, "a word"};
  Option<Secret> secret{*this, "SECRET", Secret{}, "a secret"};
  Option<std::string> text{*this, "TEXT", "", "some text"};
  Option<std::vector<std::string>> list{*this, "LIST", {}, "some words"};
};

std::string refusal(OptionBase& option, std::string_view text) {
  const std::string before = option.value_text();
  try {
    option.set(text, "GODWIT_X");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(option.value_text(), before);  // a refused value changes nothing
    EXPECT_FALSE(option.is_set());
    return error.what();
  }
  return "accepted";
}

TEST(OptionTypes, DefaultsUntilSet) {
  Samples samples;
  for (const OptionBase* option : samples.options()) {
    EXPECT_FALSE(option->is_set());
    EXPECT_EQ(option->value_text(), option->default_text());
    EXPECT_EQ(option->origin(), "");
  }
  samples.number.set("7", "GODWIT_NUMBER");
  EXPECT_EQ(*samples.number, 7);
  EXPECT_EQ(samples.number.default_text(), "5");
  EXPECT_EQ(samples.number.value_text(), "7");
  EXPECT_EQ(samples.number.origin(), "GODWIT_NUMBER");
}

TEST(OptionTypes, Bool) {
  Samples samples;
  for (const char* yes : {"1", "yes", "true", "on", "YES", "True"}) {
    samples.flag.set("0", "test");
    samples.flag.set(yes, "test");
    EXPECT_TRUE(*samples.flag) << yes;
  }
  for (const char* no : {"0", "no", "false", "off", "OFF"}) {
    samples.flag.set("1", "test");
    samples.flag.set(no, "test");
    EXPECT_FALSE(*samples.flag) << no;
  }
  Samples fresh;
  EXPECT_EQ(refusal(fresh.flag, "2"), "GODWIT_X=2: not yes or no (1 or 0, true or false, on or off)");
  EXPECT_EQ(refusal(fresh.flag, ""), "GODWIT_X=: not yes or no (1 or 0, true or false, on or off)");
}

TEST(OptionTypes, Number) {
  Samples samples;
  for (const char* bad : {"", "x", "1x", "1.5", " 1", "+1", "0x10", "9223372036854775808"})
    EXPECT_EQ(refusal(samples.number, bad), std::string("GODWIT_X=") + bad + ": not a whole number");
  samples.number.set("-3", "test");
  EXPECT_EQ(*samples.number, -3);
}

TEST(OptionTypes, SizeAndItsCheck) {
  Samples samples;
  EXPECT_EQ(refusal(samples.size, "4X"), "GODWIT_X=4X: not a size such as 8, 4K, 64M");
  EXPECT_EQ(refusal(samples.size, "4095"), "GODWIT_X=4095: not a size of at least 4K");
  samples.size.set("4K", "test");
  EXPECT_EQ(samples.size->value, 4096U);
  EXPECT_EQ(samples.size.value_text(), "4K");
}

TEST(OptionTypes, OptionalSizeTellsZeroFromNothing) {
  Samples samples;
  EXPECT_FALSE(samples.threshold->has_value());
  EXPECT_EQ(samples.threshold.default_text(), "");
  EXPECT_EQ(refusal(samples.threshold, "-1"), "GODWIT_X=-1: not a size such as 8, 4K, 64M");
  EXPECT_FALSE(samples.threshold->has_value());
  samples.threshold.set("0", "test");
  EXPECT_EQ(*samples.threshold, Bytes{0});
  EXPECT_EQ(samples.threshold.value_text(), "0");
}

TEST(OptionTypes, Time) {
  Samples samples;
  const std::pair<const char*, double> cases[] = {{"0", 0},    {"5", 5},     {"0.25", 0.25}, {"5s", 5},
                                                  {"2m", 120}, {"1.5m", 90}, {"250ms", 0.25}};
  for (const auto& [text, seconds] : cases) {
    samples.time.set(text, "test");
    EXPECT_DOUBLE_EQ(samples.time->value, seconds) << text;
  }
  Samples fresh;
  for (const char* bad : {"", "-1", "+1", "x", "5x", "5 s", "inf", "nan", ".5", "1e3", "5h", "ms"})
    EXPECT_EQ(refusal(fresh.time, bad),
              std::string("GODWIT_X=") + bad + ": not a time in seconds such as 5, 0.25, 250ms, 2m");
  EXPECT_EQ(refusal(fresh.time, "999999999999"), "GODWIT_X=999999999999: not a time of at most 10 years");
}

TEST(OptionTypes, Choice) {
  Samples samples;
  EXPECT_EQ(refusal(samples.choice, "rign"), "GODWIT_X=rign: not one of ring, tree (did you mean ring?)");
  EXPECT_EQ(refusal(samples.choice, "butterfly"), "GODWIT_X=butterfly: not one of ring, tree");
  samples.choice.set("TREE", "test");
  EXPECT_EQ(samples.choice->value, "tree");
  EXPECT_EQ(samples.choice.type_text(), "one of ring, tree");
}

TEST(OptionTypes, SecretIsNeverShown) {
  Samples samples;
  samples.secret.set("hush", "test");
  EXPECT_EQ(samples.secret->value, "hush");
  EXPECT_EQ(samples.secret.value_text(), "(hidden)");
}

TEST(OptionTypes, List) {
  Samples samples;
  samples.list.set(" shm, ucx ,,verbs,", "test");
  EXPECT_EQ(*samples.list, (std::vector<std::string>{"shm", "ucx", "verbs"}));
  EXPECT_EQ(samples.list.value_text(), "shm,ucx,verbs");
  samples.list.set(" , ", "test");
  EXPECT_TRUE(samples.list->empty());
}

TEST(OptionTypes, ShownValueIsReadBack) {
  Samples samples;
  const std::pair<OptionBase*, const char*> cases[] = {
      {&samples.flag, "on"},    {&samples.number, "-12"},  {&samples.size, "1.5M"}, {&samples.threshold, "12345"},
      {&samples.time, "250ms"}, {&samples.choice, "Tree"}, {&samples.text, "a, b"}, {&samples.list, "a,b"}};
  for (const auto& [option, text] : cases) {
    option->set(text, "test");
    const std::string shown = option->value_text();
    option->set(shown, "test");
    EXPECT_EQ(option->value_text(), shown) << option->name();
  }
}

}  // namespace
}  // namespace godwit::core
