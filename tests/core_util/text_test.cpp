#include "core/text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace godwit::core {
namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB, TiB = 1024 * GiB;

TEST(ParseSize, Grammar) {
  const std::pair<const char*, std::size_t> cases[] = {{"0", 0},
                                                       {"8", 8},
                                                       {"007", 7},
                                                       {"4K", 4 * KiB},
                                                       {"4k", 4 * KiB},
                                                       {"4KB", 4 * KiB},
                                                       {"4KiB", 4 * KiB},
                                                       {"4kib", 4 * KiB},
                                                       {"64M", 64 * MiB},
                                                       {"8G", 8 * GiB},
                                                       {"1T", TiB},
                                                       {"16B", 16},
                                                       {"1.5M", 1536 * KiB},
                                                       {"0.5K", 512},
                                                       {"0.3K", 307},
                                                       {"1.999K", 2046},
                                                       {"8388607T", 8388607 * TiB},
                                                       {"9223372036854775808", std::size_t{1} << 63}};
  for (const auto& [text, bytes] : cases) EXPECT_EQ(parse_size(text), bytes) << text;
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* text : {"",
                           " ",
                           "K",
                           "-1",
                           "+1",
                           "-8K",
                           " 8",
                           "8 ",
                           "8 K",
                           "4X",
                           "4KX",
                           "4KBB",
                           "4iB",
                           "4Ki",
                           "4BK",
                           ".5K",
                           "1.",
                           "1.K",
                           "1.5",
                           "1.5B",
                           "1..5K",
                           "1.5.5K",
                           "1e3",
                           "0x10",
                           "inf",
                           "nan",
                           "1.-5K",
                           "1.eK",
                           "8,5K",
                           "9223372036854775809",
                           "18446744073709551616",
                           "99999999999999999999999",
                           "8388609T",
                           "8388608.5T"})
    EXPECT_EQ(parse_size(text), std::nullopt) << '"' << text << '"';
  EXPECT_EQ(parse_size(std::string_view("8\0", 2)), std::nullopt);
}

TEST(FormatSize, IsShort) {
  const std::pair<std::size_t, const char*> cases[] = {{0, "0"},
                                                       {8, "8"},
                                                       {1000, "1000"},
                                                       {1023, "1023"},
                                                       {1024, "1K"},
                                                       {1536, "1.5K"},
                                                       {1280, "1280"},
                                                       {4096, "4K"},
                                                       {65536, "64K"},
                                                       {64 * MiB, "64M"},
                                                       {1536 * KiB, "1.5M"},
                                                       {8 * GiB, "8G"},
                                                       {8 * GiB + 1, "8589934593"},
                                                       {TiB, "1T"},
                                                       {1024 * TiB, "1024T"}};
  for (const auto& [bytes, text] : cases) EXPECT_EQ(format_size(bytes), text);
}

TEST(FormatSize, IsReadBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    // Random magnitudes with random numbers of trailing zero bits: where units apply.
    const std::size_t bytes = ((random() >> 1) >> (random() % 63)) & (~std::size_t{0} << (random() % 40));
    ASSERT_EQ(parse_size(format_size(bytes)), bytes) << bytes << " " << format_size(bytes);
  }
}

TEST(Nearest, FindsTypingMistakes) {
  const std::vector<std::string> words{"ring", "tree", "recursive_doubling", "direct"};
  EXPECT_EQ(nearest("ring", words), "ring");
  EXPECT_EQ(nearest("rign", words), "ring");   // neighbours swapped
  EXPECT_EQ(nearest("rings", words), "ring");  // one too many
  EXPECT_EQ(nearest("tre", words), "tree");    // one missing
  EXPECT_EQ(nearest("RING", words), "ring");   // case does not count
  EXPECT_EQ(nearest("recursive_dubling", words), "recursive_doubling");
  EXPECT_EQ(nearest("recursivedoubbling", words), "recursive_doubling");
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("butterfly", {"ring", "tree"}), std::nullopt);
  EXPECT_EQ(nearest("rg", {"ring"}), std::nullopt);
  EXPECT_EQ(nearest("ring", {}), std::nullopt);
  EXPECT_EQ(nearest("", {"ring"}), std::nullopt);
}

TEST(Nearest, TakesTheNearestAndThenTheFirst) {
  EXPECT_EQ(nearest("abcdef", {"abcdxx", "abcdex", "abcdey"}), "abcdex");
}

TEST(Hash64, IsFnv1a) {
  EXPECT_EQ(hash64(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(hash64("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(hash64("foobar"), 0x85944171f73967e8ULL);
}

}  // namespace
}  // namespace godwit::core
