package org.coterie.example

import android.content.Context
import androidx.work.Constraints
import androidx.work.ExistingPeriodicWorkPolicy
import androidx.work.NetworkType
import androidx.work.PeriodicWorkRequest
import androidx.work.WorkManager
import androidx.work.Worker
import androidx.work.WorkerParameters
import java.io.File
import java.util.concurrent.TimeUnit
import org.coterie.Client
import org.coterie.Dataset
import org.coterie.Hold
import org.coterie.Thermal
import org.coterie.deviceRequirements

/**
 * Takes part in rounds while the device is charged and on a network that costs nothing. What the system lets slip in between (a
 * cable that is pulled out), the client sees by its own requirements. When the system stops the worker, the training keeps a
 * checkpoint and goes on from there the next time.
 */
class FederatedWorker(context: Context, parameters: WorkerParameters) : Worker(context, parameters) {
    private val lock = Any() // of `client`, as the system calls onStopped() on a thread of its own
    private var client: Client? = null

    override fun doWork(): Result {
        val examples = File(applicationContext.filesDir, "examples.cotf") // the app's own data, which never leave
        if (!examples.exists()) return Result.success()
        val data = Dataset.open(examples.path)
        try {
            val opened = open(data)
            synchronized(lock) { client = opened }
            try {
                return takePart(opened)
            } finally {
                synchronized(lock) { client = null }
                opened.close()
            }
        } finally {
            data.close()
        }
    }

    override fun onStopped() {
        synchronized(lock) { client?.cancel() }
    }

    private fun open(data: Dataset): Client =
        Client(data, onRefused = { println("refused: ${it.reason}: ${it.text}") }) {
            stateDir = File(applicationContext.noBackupFilesDir, "coterie").path
            enrollmentToken = ENROLLMENT_TOKEN
            transport = PlatformTransport(SERVER_URL)
            requirements = deviceRequirements {
                charging = true
                unmetered = true
                batteryPercentMin = 30
                thermalMax = Thermal.FAIR
                cpuSecondsPerDay = 600.0
                uploadBytesPerDay = 20L shl 20
            }
        }

    private fun takePart(client: Client): Result {
        val conditions = DeviceState(applicationContext)
        while (!isStopped) {
            client.setConditions(conditions.now())
            val progress = client.step()
            if (progress.hold != Hold.NONE) return Result.success() // another time: the constraints say when
            if (progress.waitMs > WAIT_MS_MAX) return Result.success()
            Thread.sleep(progress.waitMs)
        }
        return Result.success()
    }

    companion object {
        private const val SERVER_URL = "https://fl.example.org:8443"
        private const val ENROLLMENT_TOKEN = "" // of `coterie token create`; needed until the device is enrolled
        private const val WAIT_MS_MAX = 60_000L // rather than hold the processor awake

        fun schedule(context: Context) {
            val constraints = Constraints.Builder()
                .setRequiresCharging(true).setRequiredNetworkType(NetworkType.UNMETERED).build()
            val request = PeriodicWorkRequest.Builder(FederatedWorker::class.java, 6, TimeUnit.HOURS)
                .setConstraints(constraints).build()
            WorkManager.getInstance(context).enqueueUniquePeriodicWork("federated", ExistingPeriodicWorkPolicy.KEEP, request)
        }
    }
}
