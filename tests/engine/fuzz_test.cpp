// Random messages while real operations are pending. Run with sanitizers.
#include <cstring>
#include <random>

#include "stage.hpp"

namespace godwit::engine_test {
namespace {

class Fuzz : public ::testing::TestWithParam<std::uint64_t> {};

// Fields often hold values that mean something.
TEST_P(Fuzz, RandomMessages) {
  std::mt19937_64 random(GetParam());
  for (int round = 0; round < 40; ++round) {
    Stage stage;
    Exposed window(stage.cluster, 0, 4096);
    std::vector<Pending> pending;
    pending.push_back(stage.cluster.recv(0, any_source, 2000, any_tag));
    pending.push_back(stage.cluster.send(0, 1, pattern(20'000, 1), 2));
    pending.push_back(stage.cluster.message(0, 1, pattern(20'000, 1), 2));
    stage.victim().set_handler(stage.cluster.world(0), 1, [](const ActiveMessage&) {});
    std::vector<std::uint64_t> values{
        0, 1, 2, 3, 8, 64, 1000, 4096, 4097, ~0ULL, std::uint64_t{1} << 32, std::uint64_t{1} << 63};
    for (const Pending& one : pending) values.push_back(one.operation()->id);
    const auto value = [&] { return random() % 8 == 0 ? random() : values[random() % values.size()]; };
    for (int i = 0; i < 60 && !stage.given_up(); ++i) {
      core::WireHeader header;
      header.kind = static_cast<core::MessageKind>(random() % core::message_kind_count);
      header.context = random() % 2 == 0 ? 0 : static_cast<std::uint32_t>(value());
      header.signature = random() % 2 == 0 ? 0 : static_cast<std::uint32_t>(value());
      header.tag = static_cast<Tag>(value());
      Bytes payload(random() % 12 * 8);
      for (std::size_t at = 0; at + 8 <= payload.size(); at += 8) {
        const std::uint64_t word = value();
        std::memcpy(payload.data() + at, &word, sizeof word);
      }
      stage.rogue.send(header, payload);
    }
    if (!stage.cluster.world(0).broken) stage.expect_contained();
    stage.cluster.kill(1);
    stage.cluster.settle();
    for (std::size_t i = 1; i < pending.size(); ++i) EXPECT_TRUE(pending[i].done());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Fuzz, ::testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace godwit::engine_test
