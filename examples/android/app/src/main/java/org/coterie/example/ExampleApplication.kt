package org.coterie.example

import android.app.Application

class ExampleApplication : Application() {
    override fun onCreate() {
        super.onCreate()
        FederatedWorker.schedule(this)
    }
}
