// The part of the verifier for very many ranks: a sample of schedules, checked pair by pair.
#include "collectives/interval_map.hpp"
#include "collectives/verifier.hpp"

#include <fmt/format.h>

#include <map>

namespace godwit::collectives {

namespace {

constexpr std::size_t most_peers = 4;  // of each rank of the sample whose schedules are built

class Sample {
 public:
  Sample(const Algorithm& algorithm, const Problem& problem) : algorithm_(algorithm), problem_(problem) {}

  std::string check(Rank rank) {
    const Schedule& mine = schedule(rank);
    if (std::string wrong = verify_structure(problem_, rank, mine); !wrong.empty()) return wrong;
    if (std::string wrong = check_output(rank, mine); !wrong.empty()) return wrong;
    for (const Rank peer : some_peers(mine))
      for (const bool sending : {true, false})
        if (std::string wrong = sending ? compare(rank, peer) : compare(peer, rank); !wrong.empty()) return wrong;
    return {};
  }

 private:
  const Schedule& schedule(Rank rank) {
    const auto [known, added] = built_.try_emplace(rank);
    if (added) known->second = build(algorithm_, problem_, rank);
    return known->second;
  }

  /// Of those that it talks to, the first, the last, and some between.
  static std::vector<Rank> some_peers(const Schedule& schedule) {
    std::vector<Rank> peers;
    for (const Step& step : schedule.steps)
      if (step.peer >= 0 && (peers.empty() || peers.back() != step.peer)) peers.push_back(step.peer);
    if (peers.size() <= most_peers) return peers;
    std::vector<Rank> some;
    for (std::size_t i = 0; i < most_peers; ++i) some.push_back(peers[i * (peers.size() - 1) / (most_peers - 1)]);
    return some;
  }

  static std::vector<std::uint64_t> lengths(const Schedule& schedule, StepKind kind, Rank peer) {
    std::vector<std::uint64_t> found;
    for (const Step& step : schedule.steps)
      if (step.kind == kind && step.peer == peer) found.push_back(step.count);
    return found;
  }

  std::string compare(Rank from, Rank to) {
    const auto sent = lengths(schedule(from), StepKind::send, to),
               received = lengths(schedule(to), StepKind::recv, from);
    if (sent == received) return {};
    if (sent.size() != received.size())
      return fmt::format("rank {} sends {} messages to rank {}, which expects {}", from, sent.size(), to,
                         received.size());
    std::size_t at = 0;
    while (sent[at] == received[at]) ++at;
    return fmt::format("message {} from rank {} to rank {} has {} elements, {} expected", at, from, to, sent[at],
                       received[at]);
  }

  std::string check_output(Rank rank, const Schedule& mine) const {
    const std::uint64_t length = problem_.output_count(rank);
    const Place output = canonical(problem_, rank, {Buffer::output, 0});
    IntervalMap<bool> written;
    for (const Step& step : mine.steps) {
      if (!step.writes()) continue;
      const Place target = canonical(problem_, rank, step.target);
      if (target.buffer == output.buffer) written.assign(target.offset, target.offset + step.count, true);
    }
    std::string wrong;
    written.look(output.offset, output.offset + length, [&](auto begin, auto end, bool is_written) {
      if (!is_written && wrong.empty())
        wrong =
            fmt::format("rank {}: nothing writes output [{}..{})", rank, begin - output.offset, end - output.offset);
    });
    return wrong;
  }

  const Algorithm& algorithm_;
  const Problem& problem_;
  std::map<Rank, Schedule> built_;
};

}  // namespace

std::string verify_sample(const Algorithm& algorithm, const Problem& problem, const std::vector<Rank>& ranks) {
  Sample sample(algorithm, problem);
  for (const Rank rank : ranks)
    if (std::string wrong = sample.check(rank); !wrong.empty()) return wrong;
  return {};
}

}  // namespace godwit::collectives
