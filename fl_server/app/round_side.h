// RoundSide: what opens rounds and makes models of them: the scheduler and what it finalizes with. It runs wherever the
// process may lead; who starts it says when.
#pragma once

#include <memory>

namespace coterie {

class CanaryFeeder;
class Finalizer;
struct Observers;
class RoundNoiseMaker;
class RoundScheduler;
struct ServerConfig;
struct ServerKeys;
class ServerStores;

class RoundSide {
 public:
  // All but `config` outlive this.
  RoundSide(const ServerConfig& config, const ServerKeys& keys, ServerStores& stores, Observers& observers);
  ~RoundSide();

  RoundScheduler& scheduler() { return *scheduler_; }

 private:
  std::unique_ptr<RoundNoiseMaker> noise_;
  std::unique_ptr<Finalizer> finalizer_;
  std::unique_ptr<CanaryFeeder> feeder_;
  std::unique_ptr<RoundScheduler> scheduler_;
};

}  // namespace coterie
