/* The Swift module's C side, imported as Swift's importer does. Only parsed. */
#pragma clang module import CCoterie

static coterie_status use(coterie_trainer* trainer) {
  coterie_train_progress progress = {sizeof progress, 0};
  return coterie_trainer_step(trainer, &progress);
}

coterie_status (*const used)(coterie_trainer*) = &use;
