// Bootstrap over TCP for torchrun's variables: rank 0 serves a store on a thread of its own, so that it answers
// while rank 0 computes. Survives ranks that leave in any order: after the exchange everyone has all cards.
#pragma once

#include "core/bootstrap.hpp"
#include "core/log.hpp"
#include "pmi/settings.hpp"
#include "pmi/tcp_config.hpp"

#include <memory>

namespace godwit::pmi {

class TcpStoreBootstrap final : public core::Bootstrap {
 public:
  /// Joins the job: returns when rank 0's store has taken this rank in. Throws Error(bootstrap) for missing or
  /// malformed variables, when rank 0 cannot open a port, and when the store is not reached within the deadline.
  TcpStoreBootstrap(const Variables& variables, const BootstrapSettings& settings, core::Log& log);
  /// With `settings.port` and torchrun's variables left aside.
  TcpStoreBootstrap(StoreConfig config, const BootstrapSettings& settings, core::Log& log);
  /// finalize(), if that has not happened.
  ~TcpStoreBootstrap() override;

  const core::JobInfo& job() const noexcept override;
  /// The deadline counts from rank 0's start. At its end every rank that has come throws, with the same list of
  /// those who have not.
  void exchange(std::span<const std::byte> card) override;
  std::vector<std::byte> card(Rank rank) override;
  /// A connection that ends without a good-bye is a death. After rank 0 has left, deaths are no longer noticed.
  void on_failure(FailureHandler handler) override;
  /// There is no launcher to ask: the other ranks get on_failure.
  void abort(int exit_status, std::string_view reason) noexcept override;
  void finalize() noexcept override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit::pmi
