// What server and client of `godwit perf` must have in common.
#include "tool/perf/agreement.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace godwit::apps {
namespace {

Terms terms(const PerfWords& words, const std::string& host) { return terms_of(perf_options(words, false), host); }

TEST(Agreement, SameFlagsAgree) {
  EXPECT_EQ(disagreement(terms({.test = "write_lat"}, "node0"), terms({.test = "write_lat"}, "node1")), "");
  // A default and the same said aloud are the same.
  EXPECT_EQ(disagreement(terms({.test = "write_lat"}, "node0"),
                         terms({.test = "write_lat", .size = "2", .iterations = 1000}, "node1")),
            "");
}

TEST(Agreement, EachDifferenceIsNamedWithBothValues) {
  const std::string text = disagreement(terms({.test = "write_lat", .size = "64"}, "node0"),
                                        terms({.test = "read_lat", .size = "64", .iterations = 5}, "node1"));
  EXPECT_EQ(
      text,
      "the server (node0) and the client (node1) do not agree: the test is write_lat at the server and read_lat at "
      "the client; -n is 1000 at the server and 5 at the client. Start both with the same flags");
}

TEST(Agreement, AtomicsMatterToBoth) {
  const Terms plain = terms({.test = "atomic_lat"}, "a");
  EXPECT_EQ(disagreement(plain, terms({.test = "atomic_lat", .atomic_type = "FETCH_AND_ADD"}, "b")), "");
  EXPECT_NE(disagreement(plain, terms({.test = "atomic_lat", .atomic_type = "CMP_AND_SWAP"}, "b")).find("-A"),
            std::string::npos);
  EXPECT_NE(disagreement(plain, terms({.test = "atomic_lat", .atomics = "target"}, "b")).find("--atomics"),
            std::string::npos);
}

TEST(Agreement, FlagsThatMatter) {
  const Terms plain = terms({.test = "write_bw"}, "a");
  const auto differs = [&plain](PerfWords words) {
    words.test = "write_bw";
    return !disagreement(plain, terms(words, "b")).empty();
  };
  EXPECT_TRUE(differs({.size = "8"}));
  EXPECT_TRUE(differs({.sizes = "65536,8"}));
  EXPECT_TRUE(differs({.all_sizes = true}));
  EXPECT_TRUE(differs({.bidirectional = true}));
  EXPECT_TRUE(differs({.checks = 0}));
  EXPECT_TRUE(differs({.duration_s = 3}));
  EXPECT_TRUE(differs({.warmup = 1}));
  EXPECT_TRUE(differs({.depth = 1}));
  EXPECT_TRUE(differs({.post_list = 2}));
  EXPECT_TRUE(differs({.adapter = {.queue_pairs = 2}}));
  EXPECT_TRUE(differs({.adapter = {.rdma_cm = true}}));
  // Each side has a device of its own.
  EXPECT_FALSE(differs({.adapter = {.device = "mlx5_3", .gid_index = 3}}));
  EXPECT_FALSE(differs({.memory = "private"}));
}

TEST(Agreement, GoesOverTheWire) {
  Terms sent = terms({.test = "send_bw", .bidirectional = true}, "node \"0\"");
  sent.problem = "disk full";
  const Terms got = decode(encode(sent));
  EXPECT_EQ(got.host, sent.host);
  EXPECT_EQ(got.problem, sent.problem);
  EXPECT_EQ(got.values, sent.values);
  EXPECT_THROW(decode("{}"), std::runtime_error);
  EXPECT_THROW(decode("hello"), std::runtime_error);
}

TEST(Agreement, AnotherVersionIsNotTakenForAgreement) {
  const Terms plain = terms({.test = "write_lat"}, "a");
  Terms shorter = plain;
  shorter.values.pop_back();
  EXPECT_NE(disagreement(plain, shorter), "");
}

}  // namespace
}  // namespace godwit::apps
