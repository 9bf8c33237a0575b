#include "collectives/contributions.hpp"

#include <fmt/format.h>

#include <bit>

namespace godwit::collectives {

RankSets::RankSets(int ranks) : ranks_(ranks) { name_of(Bits(static_cast<std::size_t>(ranks + 63) / 64)); }

RankSets::Name RankSets::name_of(const Bits& bits) {
  const auto [known, added] = names_.try_emplace(bits, static_cast<Name>(sets_.size()));
  if (added) sets_.push_back(bits);
  return known->second;
}

RankSets::Name RankSets::single(Rank rank) {
  Bits bits(sets_[nothing].size());
  bits[static_cast<std::size_t>(rank) / 64] = std::uint64_t{1} << (rank % 64);
  return name_of(bits);
}

RankSets::Name RankSets::first(int count) {
  Bits bits(sets_[nothing].size());
  for (int rank = 0; rank < count; ++rank) bits[static_cast<std::size_t>(rank) / 64] |= std::uint64_t{1} << (rank % 64);
  return name_of(bits);
}

RankSets::Name RankSets::unite(Name a, Name b) {
  if (a == b) return a;
  const auto [known, added] = unions_.try_emplace(static_cast<std::uint64_t>(a) << 32 | b, nothing);
  if (added) {
    Bits bits = sets_[a];
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= sets_[b][i];
    known->second = name_of(bits);
  }
  return known->second;
}

std::optional<Rank> RankSets::common(Name a, Name b) const {
  for (std::size_t i = 0; i < sets_[a].size(); ++i)
    if (const std::uint64_t both = sets_[a][i] & sets_[b][i]) return static_cast<Rank>(i * 64) + std::countr_zero(both);
  return {};
}

std::vector<Rank> RankSets::members(Name name) const {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < ranks_; ++rank)
    if (sets_[name][static_cast<std::size_t>(rank) / 64] >> (rank % 64) & 1) ranks.push_back(rank);
  return ranks;
}

bool RankSets::precedes(Name a, Name b) const {
  std::vector<Rank> ranks = members(a);
  const std::vector<Rank> later = members(b);
  ranks.insert(ranks.end(), later.begin(), later.end());
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i] != ranks[i - 1] + 1) return false;
  return true;
}

std::string RankSets::describe(Name name) const {
  const std::vector<Rank> ranks = members(name);
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i]);
    if (last > i) text += fmt::format("..{}", ranks[last]);
    i = last + 1;
  }
  return "{" + text + "}";
}

}  // namespace godwit::collectives
