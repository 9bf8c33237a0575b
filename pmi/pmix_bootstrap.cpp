#include "pmi/pmix_bootstrap.hpp"

#include "pmi/environment.hpp"
#include "pmi/failures.hpp"
#include "pmi/pmix_calls.hpp"
#include "pmi/pmix_events.hpp"
#include "pmi/pmix_missing.hpp"
#include "pmi/rank_list.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <thread>

namespace godwit::pmi {
namespace {

using Clock = Reply::Clock;

/// PMIx_Init may wait for ever for a server that accepts and says nothing: it runs in a thread that can be left
/// behind.
struct InitCall {
  pmix_proc_t me{};
  Reply reply;
};

std::shared_ptr<InitCall> init_within(Clock::time_point deadline) {
  auto call = std::make_shared<InitCall>();
  std::thread([call] { call->reply.finish(PMIx_Init(&call->me, nullptr, 0)); }).detach();
  return call->reply.wait_until(deadline) ? call : nullptr;
}

[[noreturn]] void init_failed(const Variables& variables, std::string_view what) {
  throw Error(
      ErrorCode::bootstrap,
      fmt::format("the PMIx server of job {} cannot be joined as rank {} (at {}): {}. Either the launcher has "
                  "ended, or this process only inherited the PMIX_* variables of another one (then unset "
                  "them), or something stands between the two, such as a container without the host's network "
                  "or /tmp",
                  value_of(variables, "PMIX_NAMESPACE").value_or("?"), value_of(variables, "PMIX_RANK").value_or("?"),
                  value_of(variables, "PMIX_SERVER_URI41").value_or("an unknown address"), what));
}

/// A reserved key, answered from what the server gave at PMIx_Init. The type is whatever the server likes.
std::optional<long> reserved_number(const pmix_proc_t& process, const char* key) {
  InfoList options;
  options.flag(PMIX_OPTIONAL);
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&process, key, options.data(), options.size(), &value) != PMIX_SUCCESS || value == nullptr) return {};
  long number = 0;
  pmix_status_t status = PMIX_SUCCESS;
  PMIX_VALUE_GET_NUMBER(status, value, number, long);
  PMIX_VALUE_RELEASE(value);
  return status == PMIX_SUCCESS ? std::optional(number) : std::nullopt;
}

}  // namespace

struct PmixBootstrap::Impl {
  struct Death {
    Rank rank = 0;
    std::string reason;
  };

  Impl(const Variables& variables, const BootstrapSettings& settings, core::Log& log);
  ~Impl() { leave(); }

  std::string who() const { return fmt::format("rank {}", me.rank); }
  Clock::time_point deadline() const {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(deadline_s));
  }
  void ask_about_job(const Variables& variables);
  void on_death(Rank rank, const std::string& reason);
  [[noreturn]] void exchange_failed(pmix_status_t status);
  void leave() noexcept;

  const double deadline_s;
  core::Log& log;
  pmix_proc_t me{};
  core::JobInfo job;
  bool joined = false;
  std::vector<std::byte> own_card;
  FailureReports failures;
  std::unique_ptr<DeathEvents> events;

  std::mutex mutex;              // guards what follows
  std::shared_ptr<Reply> fence;  // while exchange() waits
  std::optional<Death> death;    // the first
  std::condition_variable death_seen;
};

PmixBootstrap::Impl::Impl(const Variables& variables, const BootstrapSettings& settings, core::Log& its_log)
    : deadline_s(settings.deadline_s), log(its_log) {
  const auto call = init_within(deadline());
  if (!call) init_failed(variables, fmt::format("it does not answer within {} s (GODWIT_STARTUP_TIMEOUT)", deadline_s));
  // Without a server the library plays a job of one, and crashes when that is finalized.
  const pmix_status_t status = *call->reply.wait_until({});
  if (status != PMIX_SUCCESS) init_failed(variables, fmt::format("PMIx_Init says {}", pmix_words(status)));
  me = call->me;
  joined = true;
  try {
    ask_about_job(variables);
    events = std::make_unique<DeathEvents>(me, deadline(),
                                           [this](Rank rank, const std::string& reason) { on_death(rank, reason); });
  } catch (...) {
    leave();
    throw;
  }
  log.debug("PMIx client {}, job {}, rank {} of {}", PMIx_Get_version(), job.id, job.rank, job.size);
}

void PmixBootstrap::Impl::ask_about_job(const Variables& variables) {
  const pmix_proc_t all = pmix_process(me.nspace, PMIX_RANK_WILDCARD);
  const auto size = reserved_number(all, PMIX_JOB_SIZE);
  if (!size || *size < 1 || me.rank >= *size) {
    throw Error(ErrorCode::bootstrap,
                fmt::format("{}: the PMIx server of job {} does not say how many ranks there are", who(), me.nspace));
  }
  const std::string launcher = pmix_launcher(variables);
  job = {.rank = static_cast<Rank>(me.rank),
         .size = static_cast<int>(*size),
         .local_rank = static_cast<int>(reserved_number(me, PMIX_LOCAL_RANK).value_or(0)),
         .local_size = static_cast<int>(reserved_number(all, PMIX_LOCAL_SIZE).value_or(0)),
         .node_count = static_cast<int>(reserved_number(all, PMIX_NUM_NODES).value_or(0)),
         .id = me.nspace,
         .via = fmt::format("PMIx {}{}", pmix_version(), launcher.empty() ? "" : fmt::format(" ({})", launcher))};
}

void PmixBootstrap::Impl::on_death(Rank rank, const std::string& reason) {
  {
    const std::lock_guard lock(mutex);
    if (!death) death = Death{rank, reason};
    if (fence) fence->finish(PMIX_ERR_PROC_ABORTED);
    death_seen.notify_all();
  }
  failures.report(rank, reason);
}

void PmixBootstrap::Impl::exchange_failed(pmix_status_t status) {
  // A server that knows of a death may say so only a moment after it has let the fence fail.
  const auto first_death = [this](std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex);
    death_seen.wait_for(lock, patience, [this] { return death.has_value(); });
    return death;
  };
  auto known = first_death(std::chrono::milliseconds(status == PMIX_ERR_TIMEOUT ? 0 : 500));
  std::vector<Rank> missing;
  if (!known) {
    missing = local_ranks_without(me, card_key, Clock::now() + std::chrono::seconds(2));
    known = first_death({});
    // By now others may have given up for the same reason as this rank.
    if (known && std::find(missing.begin(), missing.end(), known->rank) == missing.end()) known.reset();
  }
  const std::string who_failed = known ? fmt::format("rank {} died: {}", known->rank, known->reason)
                                 : missing.empty()
                                     ? "this node's ranks are all there; others did not come, or the last came too late"
                                     : fmt::format("{} did not come", rank_list(missing));
  const std::string cause = status == PMIX_ERR_TIMEOUT
                                ? fmt::format("{} s, GODWIT_STARTUP_TIMEOUT, were not enough", deadline_s)
                                : fmt::format("PMIx_Fence_nb: {}", pmix_words(status));
  throw Error(ErrorCode::bootstrap,
              fmt::format("start-up of {} ranks failed at {}: {} ({})", job.size, who(), who_failed, cause));
}

void PmixBootstrap::Impl::leave() noexcept {
  if (!std::exchange(joined, false)) return;
  failures.stop();
  events.reset();
  const pmix_status_t status = PMIx_Finalize(nullptr, 0);
  if (status != PMIX_SUCCESS) log.warn("{}: PMIx_Finalize failed: {}", who(), pmix_words(status));
}

PmixBootstrap::PmixBootstrap(const Variables& variables, const BootstrapSettings& settings, core::Log& log)
    : impl_(std::make_unique<Impl>(variables, settings, log)) {}
PmixBootstrap::~PmixBootstrap() = default;

const core::JobInfo& PmixBootstrap::job() const noexcept { return impl_->job; }

void PmixBootstrap::exchange(std::span<const std::byte> card) {
  Impl& impl = *impl_;
  const auto deadline = impl.deadline();
  impl.own_card.assign(card.begin(), card.end());
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;  // not owned: PMIx_Put copies it
  value.data.bo.bytes = reinterpret_cast<char*>(impl.own_card.data());
  value.data.bo.size = impl.own_card.size();
  pmix_check(PMIx_Put(PMIX_GLOBAL, card_key, &value), impl.who(), "PMIx_Put");
  pmix_check(PMIx_Commit(), impl.who(), "PMIx_Commit");

  const auto reply = std::make_shared<Reply>();
  {
    const std::lock_guard lock(impl.mutex);
    impl.fence = reply;
    if (impl.death) reply->finish(PMIX_ERR_PROC_ABORTED);
  }
  // Without collected data Slurm 22.05 does not even wait for the other nodes; a timeout given to the server covers
  // the ranks of one node only, so the deadline is ours.
  InfoList options;
  options.flag(PMIX_COLLECT_DATA);
  pmix_start(reply, [&](pmix_op_cbfunc_t done, void* data) {
    return PMIx_Fence_nb(nullptr, 0, options.data(), options.size(), done, data);
  });
  const pmix_status_t status = reply->wait_until(deadline).value_or(PMIX_ERR_TIMEOUT);
  {
    const std::lock_guard lock(impl.mutex);
    impl.fence.reset();
  }
  if (status != PMIX_SUCCESS) impl.exchange_failed(status);
}

std::vector<std::byte> PmixBootstrap::card(Rank rank) {
  Impl& impl = *impl_;
  if (rank < 0 || rank >= impl.job.size)
    throw Error(ErrorCode::bootstrap, fmt::format("rank {} of {} has no card", rank, impl.job.size));
  if (rank == impl.job.rank) return impl.own_card;
  InfoList options;
  options.add_int(PMIX_TIMEOUT, std::max(1, static_cast<int>(std::ceil(impl.deadline_s))));
  const pmix_proc_t peer = pmix_process(impl.me.nspace, static_cast<pmix_rank_t>(rank));
  pmix_value_t* value = nullptr;
  const pmix_status_t status = PMIx_Get(&peer, card_key, options.data(), options.size(), &value);
  pmix_check(status, impl.who(), fmt::format("PMIx_Get of the card of rank {}", rank));
  std::vector<std::byte> card;
  const bool good = value->type == PMIX_BYTE_OBJECT;
  if (good) {
    const auto* bytes = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
    card.assign(bytes, bytes + value->data.bo.size);
  }
  PMIX_VALUE_RELEASE(value);
  if (!good)
    throw Error(ErrorCode::bootstrap, fmt::format("{}: the card of rank {} is not a byte object", impl.who(), rank));
  return card;
}

void PmixBootstrap::on_failure(FailureHandler handler) { impl_->failures.set_handler(std::move(handler)); }

void PmixBootstrap::abort(int exit_status, std::string_view reason) noexcept {
  const std::string words(reason);
  const pmix_status_t status = PMIx_Abort(exit_status, words.c_str(), nullptr, 0);
  if (status != PMIX_SUCCESS)
    impl_->log.error("{}: the launcher could not be told to end the job: PMIx_Abort: {}", impl_->who(),
                     pmix_words(status));
}

void PmixBootstrap::finalize() noexcept { impl_->leave(); }

}  // namespace godwit::pmi
