#include "pmi/pmix_missing.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace godwit::pmi {
namespace {

/// From PMIX_LOCAL_PEERS, "0,1,2"; empty if the server does not say.
std::vector<Rank> local_ranks(const pmix_proc_t& me) {
  const pmix_proc_t all = pmix_process(me.nspace, PMIX_RANK_WILDCARD);
  InfoList options;
  options.flag(PMIX_OPTIONAL);
  pmix_value_t* value = nullptr;
  std::vector<Rank> ranks;
  if (PMIx_Get(&all, PMIX_LOCAL_PEERS, options.data(), options.size(), &value) != PMIX_SUCCESS) return ranks;
  if (value->type == PMIX_STRING && value->data.string != nullptr) {
    const char* const end = value->data.string + std::strlen(value->data.string);
    for (const char* text = value->data.string; text < end;) {
      Rank rank = 0;
      const auto [rest, error] = std::from_chars(text, end, rank);
      if (error != std::errc{}) break;
      ranks.push_back(rank);
      text = rest + 1;
    }
  }
  PMIX_VALUE_RELEASE(value);
  return ranks;
}

/// Answers may come after the deadline: everybody who can still touch this shares it.
struct Inquiry {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Rank> missing;
  std::size_t pending = 0;
  InfoList options;
};

struct Question {
  Question(std::shared_ptr<Inquiry> its_inquiry, Rank its_rank) : inquiry(std::move(its_inquiry)), rank(its_rank) {}
  std::shared_ptr<Inquiry> inquiry;
  Rank rank;
};

void on_answer(pmix_status_t status, pmix_value_t*, void* data) {
  const std::unique_ptr<Question> question(static_cast<Question*>(data));
  Inquiry& inquiry = *question->inquiry;
  const std::lock_guard lock(inquiry.mutex);
  if (status != PMIX_SUCCESS) inquiry.missing.push_back(question->rank);
  if (--inquiry.pending == 0) inquiry.changed.notify_all();
}

}  // namespace

std::vector<Rank> local_ranks_without(const pmix_proc_t& me, const char* key, Reply::Clock::time_point deadline) {
  const std::vector<Rank> ranks = local_ranks(me);
  const auto inquiry = std::make_shared<Inquiry>();
  inquiry->pending = ranks.size();
  // Not with a timeout: a request that is still open when its rank is killed makes the server of PMIx 4.2 crash.
  inquiry->options.flag(PMIX_IMMEDIATE);
  for (const Rank rank : ranks) {
    auto question = std::make_unique<Question>(inquiry, rank);
    const pmix_proc_t peer = pmix_process(me.nspace, static_cast<pmix_rank_t>(rank));
    const pmix_status_t status =
        PMIx_Get_nb(&peer, key, inquiry->options.data(), inquiry->options.size(), on_answer, question.get());
    Question* const asked = question.release();  // on_answer deletes it
    if (status != PMIX_SUCCESS) on_answer(status, nullptr, asked);
  }
  std::unique_lock lock(inquiry->mutex);
  inquiry->changed.wait_until(lock, deadline, [&] { return inquiry->pending == 0; });
  std::vector<Rank> missing = inquiry->missing;
  std::sort(missing.begin(), missing.end());
  return missing;
}

}  // namespace godwit::pmi
